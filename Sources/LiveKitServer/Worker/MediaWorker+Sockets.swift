internal import LiveKitCore
internal import RTCEngine
internal import RTCNetwork
internal import RTCWire

/// Ports, and TCP connections.
extension MediaWorker {
    /// Connections accepted in one turn of the loop.
    private static let acceptsInOneTurn = 32
    /// For so long after a loss by its own slowness a worker asks for each packet once.
    private static let overrunMemory = Interval.milliseconds(500)
    /// At most one report of such losses in this time.
    private static let overrunReportInterval = Interval.seconds(Int64(60))

    /// Takes its ports and begins. Once.
    func start() throws(MediaWorkerError) -> Ports {
        guard !configuration.addresses.isEmpty else { throw .noAddress }
        // A port that is free on one address may be taken on another.
        let isFree = configuration.port == 0 || configuration.tcpPort == 0
        var attemptsLeft = isFree ? 16 : 1
        while true {
            attemptsLeft -= 1
            do throws(MediaWorkerError) {
                let ports = try open()
                var transport = RoomTransport(
                    security: configuration.security, udpHosts: datagramPorts.map(\.announced),
                    tcpHosts: tcpPorts.map(\.announced), wallClockOffset: NetworkLoop.wallClockOffset)
                transport.ice = configuration.ice
                transport.congestion = configuration.congestion
                self.transport = transport
                forwarded = DatagramOutbox(sealingIn: configuration.security.makeSealingBatch())
                if configuration.follow != nil { loop.interfaces.add(link) }
                return ports
            } catch {
                link.forgetAll()
                closeSockets()
                if attemptsLeft == 0 { throw error }
            }
        }
    }

    private func open() throws(MediaWorkerError) -> Ports {
        var ports = Ports(port: configuration.port)
        for address in configuration.addresses {
            do throws(SystemError) {
                try openDatagrams(on: address, &ports.port)
            } catch {
                throw .port("UDP", TransportAddress(address.local, port: ports.port), error)
            }
        }
        guard var port = configuration.tcpPort else { return ports }
        for address in configuration.addresses {
            do throws(SystemError) {
                try openTCP(on: address, &port, besides: ports.port)
            } catch {
                throw .port("TCP", TransportAddress(address.local, port: port), error)
            }
        }
        ports.tcpPort = port
        return ports
    }

    /// The first one takes a free port if it may, and the others that one.
    func openDatagrams(on address: MediaWorkerConfiguration.Address, _ port: inout UInt16) throws(SystemError) {
        let socket = try UDPSocket(
            binding: TransportAddress(address.local, port: port), receiveBuffer: UDPSocket.sharedBuffer)
        let token = try loop.add(socket, reader: link)
        port = socket.address.port
        add(token, .datagrams(datagramPorts.count))
        datagramPorts.append(
            DatagramPort(
                socket: socket, announced: TransportAddress(address.announced, port: port), token: token))
    }

    /// A free port is another one than that of datagrams: the rooms know their sockets by address alone.
    func openTCP(
        on address: MediaWorkerConfiguration.Address, _ port: inout UInt16, besides other: UInt16
    ) throws(SystemError) {
        var listener = try StreamListener(binding: TransportAddress(address.local, port: port), backlog: 128)
        while port == 0, listener.address.port == other {
            listener = try StreamListener(binding: TransportAddress(address.local, port: port), backlog: 128)
        }
        let token = try listener.attach(to: loop, reader: link)
        port = listener.address.port
        add(token, .listener(tcpPorts.count))
        tcpPorts.append(
            TCPPort(listener: listener, announced: TransportAddress(address.announced, port: port), token: token))
    }

    /// Datagrams have been read: were there others that the system has dropped?
    func lookForOverrun(of index: Int, mayHaveMore: Bool, at now: Instant) {
        let count = datagramPorts[index].takeOverrun(mayHaveMore: mayHaveMore, at: now)
        guard count > 0 else { return }
        statistics.datagramsOverrun += count
        let end = now + Self.overrunMemory
        for room in rooms.values { room.machine.askOnce(until: end) }
        untoldOverrun += count
        if let toldOverrunAt, now - toldOverrunAt < Self.overrunReportInterval { return }
        toldOverrunAt = now
        surroundings.overran(untoldOverrun, datagramPorts[index].socket.receiveBuffer)
        untoldOverrun = 0
    }

    private func add(_ token: UInt64, _ source: Source) {
        sources[token] = source
        link.tokens.insert(token)
    }

    func forget(_ token: UInt64) {
        sources[token] = nil
        link.tokens.remove(token)
        loop.forget([token])
    }

    func closeSockets() {
        for port in datagramPorts { port.socket.close() }
        for port in tcpPorts { port.listener.close() }
        for connection in tcpConnections.values {
            connection.belong(to: nil)
            connection.socket.close()
        }
        sources = [:]
        datagramPorts = []
        tcpPorts = []
        tcpConnections = [:]
        strangersOfAddress = [:]
    }

    // MARK: TCP

    func accept(from port: TCPPort, at now: Instant) {
        let deadline = now + Interval(configuration.patience)
        for _ in 0..<Self.acceptsInOneTurn {
            guard let socket = port.listener.accept() else { return }
            let ip = socket.remote.ip.site
            guard tcpConnections.count < configuration.maximumTCPConnections, tcpConnections[socket.remote] == nil,
                strangersOfAddress[ip, default: 0] < configuration.maximumStrangersPerAddress,
                let token = try? socket.attach(to: loop, reader: link)
            else {
                socket.close()
                statistics.tcpConnectionsRefused += 1
                continue
            }
            let connection = MediaTCPConnection(socket, base: port.announced, token: token, at: now, until: deadline)
            tcpConnections[socket.remote] = connection
            strangersOfAddress[ip, default: 0] += 1
            add(token, .tcpConnection(connection))
            loop.schedule(link.timer, at: deadline)
        }
    }

    func read(_ connection: MediaTCPConnection, at now: Instant) {
        let remote = connection.socket.remote
        let goesOn = connection.becameReady { datagram in
            statistics.datagramsReceived += 1
            statistics.bytesReceived += datagram.count
            // RFC 6544 §7.3: a check comes first, and names whose connection it is.
            if STUNMessage.isBindingRequest(datagram.span.bytes) {
                guard case .peer(let peer) = demultiplexer.route(of: datagram.span.bytes, from: remote) else {
                    return false
                }
                connection.belong(to: peer)
                endOldestTCPConnections(of: peer, at: now)
            }
            guard let peer = connection.peer else { return false }
            // A frame can hold more than a datagram, which would have been cut off: it is of no use to anybody.
            guard datagram.count <= UDPSocket.maximumDatagramSize else { return true }
            give(&datagram, to: peer, from: remote, to: connection.base, at: now)
            return true
        }
        if !goesOn { end(connection, at: now) }
    }

    func end(_ connection: MediaTCPConnection, at now: Instant) {
        guard remove(connection), let peer = connection.peer else { return }
        connection.belong(to: nil)
        peer.room.machine.tcpConnectionClosed(
            for: peer.id, from: connection.base, to: connection.socket.remote, at: now)
        touch(peer.room)
    }

    /// A check has been answered over it.
    func prove(_ connection: MediaTCPConnection, at now: Instant) {
        takeFromStrangers(connection)
        connection.isProvenForPeer = true
        connection.provenAt = now
        if let peer = connection.peer, peer.tcpConnections.count > configuration.maximumTCPConnectionsOfPeer {
            crowded.append(peer)
        }
    }

    /// Clients that move between networks leave connections behind that nobody ends; and one with a credential is not
    /// to take the places of all others. Whoever has seen a check pass can name a client, and not prove to be it: the
    /// connections of strangers take no places of those over which a check was answered.
    func endOldestTCPConnections(of peer: MediaPeer, at now: Instant) {
        for isProven in [false, true] {
            let connections = peer.tcpConnections.filter { $0.isProvenForPeer == isProven }
            let excess = connections.count - configuration.maximumTCPConnectionsOfPeer
            guard excess > 0 else { continue }
            for connection in connections.sorted(by: { $0.provenAt < $1.provenAt }).prefix(excess) {
                end(connection, at: now)
            }
        }
    }

    private func remove(_ connection: MediaTCPConnection) -> Bool {
        guard tcpConnections.removeValue(forKey: connection.socket.remote) != nil else { return false }
        takeFromStrangers(connection)
        forget(connection.token)
        connection.socket.close()
        return true
    }

    /// Its client has shown a credential, or it is over.
    private func takeFromStrangers(_ connection: MediaTCPConnection) {
        guard case .unproven = connection.trust else { return }
        connection.trust = .proven
        let ip = connection.socket.remote.ip.site
        let left = strangersOfAddress[ip, default: 1] - 1
        strangersOfAddress[ip] = left > 0 ? left : nil
    }

    func closeTCPConnections(of peer: MediaPeer) {
        for connection in peer.tcpConnections {
            connection.belong(to: nil)
            _ = remove(connection)
        }
    }

    /// Whoever has connected and shown no credential for too long is sent away.
    func endStrangers(at now: Instant) {
        var next: Instant?
        for connection in tcpConnections.values {
            guard case .unproven(let deadline) = connection.trust else { continue }
            if deadline <= now {
                end(connection, at: now)
            } else {
                next = min(next ?? deadline, deadline)
            }
        }
        if let next { loop.schedule(link.timer, at: next) }
        settleAll(at: now)
    }
}
