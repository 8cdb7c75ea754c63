internal import LiveKitCore
internal import RTCEngine
internal import RTCNetwork
internal import RTCWire
internal import Synchronization

/// A host whose networks change while the server runs: a laptop that is carried elsewhere, a line that is given another
/// address every night.
extension MediaWorker {
    /// The addresses that media come in on now.
    private var addresses: [MediaWorkerConfiguration.Address] {
        datagramPorts.map { MediaWorkerConfiguration.Address(local: $0.socket.address.ip, announced: $0.announced.ip) }
    }

    /// Takes the ports of addresses that are new, gives back those of addresses that are gone, and tells the rooms. One
    /// that cannot be taken yet, as IPv6 has them for a second, is told of again.
    func interfacesChanged(_ interfaces: [NetworkInterface]) {
        guard let follow = configuration.follow, let port = datagramPorts.first?.announced.port, let former = transport
        else { return }
        let present = addresses
        let wanted = follow(interfaces)
        // Between two networks there is none for a moment. Those that come back find their sockets.
        guard wanted.contains(where: { !$0.local.isLoopback }) || present.allSatisfy({ $0.local.isLoopback }) else {
            return
        }
        let lost = present.filter { !wanted.contains($0) }
        for address in wanted where !present.contains(address) {
            open(address, port, tcpPort: tcpPorts.first?.announced.port)
        }
        // Some way in there has to be.
        guard addresses.contains(where: { !lost.contains($0) }) else { return }
        let now = NetworkLoop.now
        for address in lost { close(address, at: now) }
        guard addresses != present else { return }
        let order = wanted.map(\.announced)
        let hosts = { (hosts: [TransportAddress]) in
            order.compactMap { ip in hosts.first { $0.ip == ip } }
        }
        var transport = former
        transport.udpHosts = hosts(datagramPorts.map(\.announced))
        transport.tcpHosts = hosts(tcpPorts.map(\.announced))
        self.transport = transport
        reachable.withLock { $0 = addresses }
        for room in hostedRooms {
            room.machine.hostsChanged(udp: transport.udpHosts, tcp: transport.tcpHosts, at: now)
            touch(room)
        }
        settleAll(at: now)
        surroundings.moved(addresses)
    }

    /// Both ports of an address, or neither.
    private func open(_ address: MediaWorkerConfiguration.Address, _ port: UInt16, tcpPort: UInt16?) {
        var port = port
        guard (try? openDatagrams(on: address, &port)) != nil else { return }
        guard var tcpPort else { return }
        do throws(SystemError) {
            try openTCP(on: address, &tcpPort, besides: port)
        } catch {
            close(address, at: NetworkLoop.now)
        }
    }

    private func close(_ address: MediaWorkerConfiguration.Address, at now: Instant) {
        func isOfAddress(_ local: IPAddress, _ announced: TransportAddress) -> Bool {
            local == address.local && announced.ip == address.announced
        }
        for port in datagramPorts where isOfAddress(port.socket.address.ip, port.announced) {
            forget(port.token)
            port.socket.close()
        }
        datagramPorts.removeAll { isOfAddress($0.socket.address.ip, $0.announced) }
        for port in tcpPorts where isOfAddress(port.listener.address.ip, port.announced) {
            forget(port.token)
            port.listener.close()
        }
        tcpPorts.removeAll { isOfAddress($0.listener.address.ip, $0.announced) }
        for connection in tcpConnections.values where connection.base.ip == address.announced {
            end(connection, at: now)
        }
        // They have moved up.
        for (index, port) in datagramPorts.enumerated() { sources[port.token] = .datagrams(index) }
        for (index, port) in tcpPorts.enumerated() { sources[port.token] = .listener(index) }
    }
}
