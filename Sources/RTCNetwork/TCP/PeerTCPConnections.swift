internal import RTCEngine
internal import RTCWire

/// The TCP connections of one peer connection (RFC 6544): those that a peer has made to our listener, and those that we
/// make to a peer's. Each carries datagrams behind their lengths (RFC 4571). Lives on the connection's loop.
final class PeerTCPConnections: SocketReader, TimerTarget {
    private struct Listener {
        let listener: StreamListener
        let token: UInt64
    }

    /// Where we are with a connection.
    private enum Trust: Equatable {
        /// The peer named the address that we connect to.
        case ours
        /// Somebody has connected and shown no credential of ours yet.
        case unproven(until: Instant)
        case proven
    }

    private final class Connection {
        let socket: StreamSocket
        let token: UInt64
        /// As the engine names our side: where we listen, or `ICEAgent.activePort` of our address.
        let base: TransportAddress
        var framing = StreamFraming()
        var trust: Trust

        init(_ socket: StreamSocket, token: UInt64, base: TransportAddress, trust: Trust) {
            self.socket = socket
            self.token = token
            self.base = base
            self.trust = trust
        }
    }

    private weak var owner: (any PeerTCPConnectionsOwner)?
    private let loop: NetworkLoop
    private let timer = LoopTimer()
    private var listeners: [Listener] = []
    private var connections: [Connection] = []

    /// Connections in all, and those among them that nobody has vouched for: a stranger who opens more waits.
    private static let limit = 32
    private static let unprovenLimit = 8
    /// How long a stranger may take to show a credential.
    private static let patience = Interval.milliseconds(10_000)
    /// Reads in one turn of the loop, 16 KiB each: others want their turn too.
    private static let readsInOneTurn = 8

    init(on loop: NetworkLoop, for owner: any PeerTCPConnectionsOwner) {
        self.loop = loop
        self.owner = owner
        timer.target = self
    }

    deinit { close() }

    // MARK: For the owner

    /// Accepts connections at an address; returns it with its port.
    func listen(at address: TransportAddress) throws(SystemError) -> TransportAddress {
        let listener = try StreamListener(binding: address)
        listeners.append(Listener(listener: listener, token: try listener.attach(to: loop, reader: self)))
        return listener.address
    }

    /// Sends a datagram over the connection between the two; makes one if `base` is active and there is none. What does
    /// not fit into the connection's queue is dropped, as a full line drops it.
    func send(_ datagram: [UInt8], from base: TransportAddress, to remote: TransportAddress) {
        guard let frame = StreamFraming.frame(datagram),
            let connection = connections.first(where: { $0.base == base && $0.socket.remote == remote })
                ?? connect(to: remote, from: base)
        else { return }
        _ = connection.socket.write(frame)
    }

    /// Closes everything.
    func close() {
        loop.forget(listeners.map(\.token) + connections.map(\.token))
        for listener in listeners { listener.listener.close() }
        for connection in connections { connection.socket.close() }
        listeners = []
        connections = []
    }

    /// The host has lost these addresses.
    ///
    /// - Returns: the bases that are gone.
    func drop(_ isLost: (TransportAddress) -> Bool) -> [TransportAddress] {
        let gone = listeners.filter { isLost($0.listener.address) }
        listeners.removeAll { isLost($0.listener.address) }
        for listener in gone {
            loop.forget([listener.token])
            listener.listener.close()
        }
        for connection in connections where isLost(connection.base) { remove(connection) }
        return gone.map(\.listener.address)
    }

    // MARK: Connections

    private func connect(to remote: TransportAddress, from base: TransportAddress) -> Connection? {
        guard base.port == ICEAgent.activePort, connections.count < Self.limit else { return nil }
        let local = TransportAddress(base.ip, port: 0)
        guard let socket = try? StreamSocket(connectingTo: remote, from: local),
            let token = try? socket.attach(to: loop, reader: self)
        else {
            owner?.tcpConnectionClosed(from: base, to: remote)
            return nil
        }
        let connection = Connection(socket, token: token, base: base, trust: .ours)
        connections.append(connection)
        return connection
    }

    private func accept(from listener: StreamListener) {
        // All that wait, or the loop is told again and again; whoever is too many is sent away.
        for _ in 0..<Self.limit {
            guard let socket = listener.accept() else { return }
            let unproven = connections.count {
                if case .unproven = $0.trust { true } else { false }
            }
            guard connections.count < Self.limit, unproven < Self.unprovenLimit,
                let token = try? socket.attach(to: loop, reader: self)
            else {
                socket.close()
                continue
            }
            let until = NetworkLoop.now + Self.patience
            connections.append(Connection(socket, token: token, base: listener.address, trust: .unproven(until: until)))
            loop.schedule(timer, at: until)
        }
    }

    private func remove(_ connection: Connection) {
        loop.forget([connection.token])
        connection.socket.close()
        connections.removeAll { $0 === connection }
    }

    /// A connection is over: the engine looks for another way.
    private func end(_ connection: Connection) {
        let isKnown = connection.trust == .ours || connection.trust == .proven
        remove(connection)
        if isKnown { owner?.tcpConnectionClosed(from: connection.base, to: connection.socket.remote) }
    }

    // MARK: From the loop

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        if let listener = listeners.first(where: { $0.token == token }) { return accept(from: listener.listener) }
        guard let connection = connections.first(where: { $0.token == token }) else { return }
        connection.socket.becameReady()
        read(connection)
    }

    private func read(_ connection: Connection) {
        var bytes: [UInt8] = []
        for _ in 0..<Self.readsInOneTurn {
            bytes.removeAll(keepingCapacity: true)
            switch connection.socket.read(into: &bytes) {
            case .bytes:
                connection.framing.append(bytes)
                guard deliver(connection) else { return remove(connection) }
            case .none: return
            case .ended, .failed: return end(connection)
            }
        }
    }

    /// Hands whole datagrams over. False when a stranger has not begun with a check under a credential of ours.
    private func deliver(_ connection: Connection) -> Bool {
        while var datagram = connection.framing.next() {
            owner?.tcpConnectionReceived(&datagram, from: connection.socket.remote, to: connection.base)
            if case .unproven = connection.trust {
                // RFC 6544 §7.3: the first thing over a connection is a check; its user name tells whose connection it
                // is.
                guard owner?.knowsPeer(at: connection.socket.remote) == true else { return false }
                connection.trust = .proven
            }
            // The owner may have closed everything meanwhile.
            guard connection.socket.state != .closed else { return true }
        }
        return true
    }

    func timerFired(at now: Instant) {
        var next: Instant?
        for connection in connections {
            guard case .unproven(let until) = connection.trust else { continue }
            if until <= now {
                remove(connection)
            } else {
                next = min(next ?? until, until)
            }
        }
        if let next { loop.schedule(timer, at: next) }
    }
}

/// A peer connection, as its TCP connections see it. On the loop's thread.
protocol PeerTCPConnectionsOwner: AnyObject {
    func tcpConnectionReceived(_ datagram: inout [UInt8], from remote: TransportAddress, to base: TransportAddress)
    func tcpConnectionClosed(from base: TransportAddress, to remote: TransportAddress)
    func knowsPeer(at remote: TransportAddress) -> Bool
}
