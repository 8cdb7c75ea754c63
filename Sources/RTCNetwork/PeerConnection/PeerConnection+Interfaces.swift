internal import RTCEngine
internal import RTCWire

extension PeerConnection {
    /// The host's addresses may have changed: sockets whose address is gone are closed, and others opened on new ones.
    func interfacesChanged(_ interfaces: [NetworkInterface]) {
        guard gathering == .started else { return }
        let present = Set(interfaces.map(\.address))
        let bound = Set(sockets.map(\.socket.address.ip))
        // An address that was never listed, as 127.0.0.2, is none that could vanish.
        let lost = listedAddresses.subtracting(present).intersection(bound)
        listedAddresses = present
        var changes = (lost: [TransportAddress](), found: [TransportAddress]())
        changes.lost = sockets.map(\.socket.address).filter { lost.contains($0.ip) }
        let active = lost.map { TransportAddress($0, port: ICEAgent.activePort) }
        if let tcpConnections { changes.lost += tcpConnections.drop { lost.contains($0.ip) } + active }
        close(lost)
        for address in wanted(of: interfaces) where !bound.contains(address) {
            // One that cannot be bound yet, as IPv6 has them for a second, is told of again.
            guard (try? open(address)) != nil, let socket = sockets.last?.socket else { continue }
            changes.found.append(socket.address)
        }
        guard !changes.lost.isEmpty || !changes.found.isEmpty else { return }
        machine.interfacesChanged(lost: changes.lost, found: changes.found, at: NetworkLoop.now)
        for base in changes.found { openTCP(on: base.ip) }
        flush()
    }

    /// The addresses that sockets should be open on now.
    private func wanted(of interfaces: [NetworkInterface]) -> [IPAddress] {
        switch configuration.addresses {
        case .only(let addresses): addresses.filter { address in interfaces.contains { $0.address == address } }
        case .all: interfaces.map(\.address)
        // Loopback serves a host without a network; one that has lost its network for a moment does not want it.
        case .automatic: interfaces.filter { !$0.isLoopback }.map(\.address)
        }
    }

    private func close(_ addresses: Set<IPAddress>) {
        for bound in sockets where addresses.contains(bound.socket.address.ip) {
            link.remove(bound.token)
            bound.socket.close()
        }
        sockets.removeAll { addresses.contains($0.socket.address.ip) }
    }
}
