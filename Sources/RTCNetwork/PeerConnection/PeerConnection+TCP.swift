internal import RTCEngine
internal import RTCWire

extension PeerConnection {
    /// Offers TCP on an address that candidates are gathered on, as far as the configuration wants it.
    func openTCP(on address: IPAddress) {
        guard configuration.tcp != .none else { return }
        let now = NetworkLoop.now
        let tcpConnections = tcpConnections ?? PeerTCPConnections(on: loop, for: link)
        self.tcpConnections = tcpConnections
        if case .activeAndPassive(let port) = configuration.tcp {
            // The engine tells connections from sockets by their addresses.
            let taken = sockets.map(\.socket.address)
            for _ in 0..<8 {
                // A port that somebody else has is no reason to do without UDP.
                guard let base = try? tcpConnections.listen(at: TransportAddress(address, port: port)) else { break }
                guard taken.contains(base) else {
                    machine.addTCPHost(base, .passive, at: now)
                    break
                }
                _ = tcpConnections.drop { $0 == base }
                if port != 0 { break }
            }
        }
        machine.addTCPHost(TransportAddress(address, port: ICEAgent.activePort), .active, at: now)
    }

    func tcpConnectionReceived(_ datagram: inout [UInt8], from remote: TransportAddress, to base: TransportAddress) {
        takeQueuedData()
        machine.receive(&datagram, from: remote, to: base, at: NetworkLoop.now)
        handOutPacket(&datagram)
        flush()
    }

    func tcpConnectionClosed(from base: TransportAddress, to remote: TransportAddress) {
        machine.tcpConnectionClosed(from: base, to: remote, at: NetworkLoop.now)
        flush()
    }

    func knowsPeer(at remote: TransportAddress) -> Bool { machine.knows(remote) }
}
