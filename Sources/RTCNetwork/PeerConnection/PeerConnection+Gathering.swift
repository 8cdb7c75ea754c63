internal import RTCEngine
internal import RTCWire
internal import Synchronization

extension PeerConnection {
    /// A server of the configuration, to be looked up.
    struct Server {
        let location: STUNServerURL
        let url: String
        /// Nil for a STUN server.
        let relay: (transport: TURNServer.Transport, username: String, password: String)?
    }

    /// Their addresses by name; none for a lite agent.
    func servers(_ iceServers: [PeerConnectionConfiguration.ICEServer]) throws(PeerConnectionError) -> [Server] {
        // RFC 8445 §5.2: a lite agent has host candidates only.
        if configuration.ice.isLite { return [] }
        var servers: [Server] = []
        for server in iceServers {
            try server.check()
            for url in server.urls {
                guard TURNServerURL.isMeant(by: url) else {
                    servers.append(Server(location: try STUNServerURL(url), url: url, relay: nil))
                    continue
                }
                let turn = try TURNServerURL(url)
                let relay = (turn.transport, server.username ?? "", server.credential ?? "")
                servers.append(Server(location: turn.location, url: url, relay: relay))
            }
        }
        return servers
    }

    /// Opens a socket on each usable address, once, and asks the servers as soon as their names are looked up.
    func startGathering(asking servers: [Server]) throws(PeerConnectionError) {
        guard gathering == .notStarted else { return }
        let addresses = try usableAddresses()
        var failure: SystemError?
        for address in addresses {
            do throws(SystemError) {
                try open(address)
            } catch {
                // An address may have gone, or be one that cannot be bound (a tentative IPv6 one): the others count.
                failure = error
            }
        }
        if sockets.isEmpty, let failure { throw .noSocket(failure) }
        gathering = .started
        listedAddresses = Set(((try? NetworkInterface.current()) ?? []).map(\.address))
        loop.interfaces.add(link)
        let now = NetworkLoop.now
        for bound in sockets { machine.addLocalHost(bound.socket.address, at: now) }
        for address in addresses where sockets.contains(where: { $0.socket.address.ip == address }) {
            openTCP(on: address)
        }
        ask(servers)
    }

    /// Uses these servers in place of those before: at once as far as their names are known, and then as they become
    /// known.
    func ask(_ servers: [Server]) {
        askedServers = servers
        serverGeneration += 1
        let locations = Set(servers.map(\.location))
        knownAddresses = knownAddresses.filter { locations.contains($0.key) }
        unresolved = []
        for location in locations {
            if let ip = IPAddress(location.host) {
                knownAddresses[location] = [TransportAddress(ip, port: location.port)]
            } else {
                unresolved.insert(location)
            }
        }
        useServers()
        let generation = serverGeneration
        for location in unresolved {
            // Weakly: an answer may take half a minute, and a connection does not live for it.
            let isWanted: @Sendable () -> Bool = { [weak self] in
                self.map { !$0.isOver.load(ordering: .relaxed) } ?? false
            }
            HostResolver.shared.resolve(location, if: isWanted) { [weak self] addresses in
                Task { [weak self] in await self?.resolved(location, addresses, generation) }
            }
        }
    }

    private func resolved(_ location: STUNServerURL, _ addresses: [TransportAddress], _ generation: Int) {
        let servers = askedServers.filter { $0.location == location }
        guard gathering == .started, !servers.isEmpty else { return }
        // Those that are in use stay in front: who is asked in turns is not another server each time.
        let former = knownAddresses[location] ?? []
        if addresses.isEmpty {
            if former.isEmpty, generation == serverGeneration { servers.forEach(tellUnknown) }
        } else {
            knownAddresses[location] = former.filter(addresses.contains) + addresses.filter { !former.contains($0) }
        }
        if generation == serverGeneration { unresolved.remove(location) }
        useServers()
        flush()
    }

    /// Gives the machine those whose addresses are known. When all are, gathering may end.
    private func useServers() {
        let now = NetworkLoop.now
        let known = askedServers.compactMap { server in knownAddresses[server.location].map { (server, $0) } }
        machine.setServers(
            stun: known.filter { $0.0.relay == nil }.flatMap(\.1),
            turn: known.flatMap { server, addresses in turnServers(server, at: addresses) },
            areAll: unresolved.isEmpty, at: now)
        if unresolved.isEmpty { machine.localHostsComplete(at: now) }
    }

    private func usableAddresses() throws(PeerConnectionError) -> [IPAddress] {
        if case .only(let addresses) = configuration.addresses { return addresses }
        let interfaces: [NetworkInterface]
        do throws(SystemError) {
            interfaces = try NetworkInterface.current()
        } catch {
            throw .interfaces(error)
        }
        let outside = interfaces.filter { !$0.isLoopback }
        let chosen = configuration.addresses == .all || outside.isEmpty ? interfaces : outside
        guard !chosen.isEmpty else { throw .noAddress }
        return chosen.map(\.address)
    }
}
