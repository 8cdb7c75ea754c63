internal import RTCEngine
internal import RTCWire

extension PeerConnection {
    /// Opens a socket on each usable address, once, and asks the STUN servers.
    func startGathering() async throws(PeerConnectionError) {
        guard gathering == .notStarted else { return }
        var servers: [STUNServerURL] = []
        for url in configuration.iceServers.flatMap(\.urls) { servers.append(try STUNServerURL(url)) }
        gathering = .started
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
        let now = NetworkLoop.now
        for bound in sockets { machine.addLocalHost(bound.socket.address, at: now) }
        flush()
        if !servers.isEmpty {
            var resolved: [TransportAddress] = []
            for server in servers { resolved += await server.resolve() }
            guard gathering == .started else { return }
            machine.addSTUNServers(resolved, at: NetworkLoop.now)
        }
        machine.localHostsComplete(at: NetworkLoop.now)
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
