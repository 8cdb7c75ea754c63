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

    /// The servers of the configuration.
    func servers() throws(PeerConnectionError) -> [Server] {
        // RFC 8445 §5.2: a lite agent has host candidates only.
        if configuration.ice.isLite { return [] }
        var servers: [Server] = []
        for server in configuration.iceServers {
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
            openStreams(on: address)
        }
        guard !servers.isEmpty else { return machine.localHostsComplete(at: now) }
        unresolved = servers.count
        for server in servers {
            // Weakly: an answer may take half a minute, and a connection does not live for it.
            let isWanted: @Sendable () -> Bool = { [weak self] in
                self.map { !$0.isOver.load(ordering: .relaxed) } ?? false
            }
            HostResolver.shared.resolve(server.location, if: isWanted) { [weak self] addresses in
                Task { [weak self] in await self?.resolved(server, addresses) }
            }
        }
    }

    private func resolved(_ server: Server, _ addresses: [TransportAddress]) {
        guard gathering == .started else { return }
        unresolved -= 1
        let now = NetworkLoop.now
        if server.relay != nil {
            relayResolved(server, addresses, at: now)
        } else {
            machine.addSTUNServers(addresses, at: now)
        }
        if unresolved == 0 { machine.localHostsComplete(at: now) }
        flush()
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
