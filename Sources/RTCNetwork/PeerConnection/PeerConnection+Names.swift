internal import RTCEngine
internal import RTCWire

extension PeerConnection {
    /// Looks up the name that a candidate of the peer's shows instead of an address.
    func resolve(name: String) {
        if names == nil {
            names = MDNSResolver(on: loop, interfaces: mdnsInterfaces) { [weak self] name, address in
                self?.assumeIsolated { $0.named(name, address) }
            }
        }
        names?.resolve(name)
    }

    private func named(_ name: String, _ address: IPAddress?) {
        machine.nameResolved(name, to: address, at: NetworkLoop.now)
        flush()
    }

    /// The interfaces of the addresses that candidates are gathered on.
    private var mdnsInterfaces: [NetworkInterface] {
        guard let all = try? NetworkInterface.current() else { return [] }
        let ours = sockets.map(\.socket.address.ip)
        return all.filter { ours.isEmpty ? !$0.isLoopback : ours.contains($0.address) }
    }
}
