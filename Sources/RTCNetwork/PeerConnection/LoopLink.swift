internal import RTCEngine
internal import RTCWire

/// What the loop knows of a connection: it holds this weakly, and this holds the connection weakly, so that a
/// connection that its user forgot goes away.
final class LoopLink: SocketReader, TimerTarget, InterfaceListener, PeerTCPConnectionsOwner {
    /// The connection's deadline.
    let timer = LoopTimer()
    private weak var connection: PeerConnection?
    private let loop: NetworkLoop
    /// Of the sockets that are read for the connection.
    private var tokens: [UInt64] = []

    init(_ connection: PeerConnection) {
        self.connection = connection
        self.loop = connection.loop
        timer.target = self
    }

    deinit { loop.forget(tokens) }

    func add(_ token: UInt64) { tokens.append(token) }

    /// One of the sockets is closed.
    func remove(_ token: UInt64) {
        tokens.removeAll { $0 == token }
        loop.forget([token])
    }

    /// The sockets are closed, and nothing is to be told any more.
    func leave() {
        loop.forget(tokens)
        tokens = []
        timer.target = nil
    }

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        connection?.assumeIsolated { $0.socketReadable(token, &batch) }
    }

    func tcpConnectionReceived(_ datagram: inout [UInt8], from remote: TransportAddress, to base: TransportAddress) {
        connection?.assumeIsolated { $0.tcpConnectionReceived(&datagram, from: remote, to: base) }
    }

    func tcpConnectionClosed(from base: TransportAddress, to remote: TransportAddress) {
        connection?.assumeIsolated { $0.tcpConnectionClosed(from: base, to: remote) }
    }

    func knowsPeer(at remote: TransportAddress) -> Bool {
        connection?.assumeIsolated { $0.knowsPeer(at: remote) } ?? false
    }

    func interfacesChanged(_ interfaces: [NetworkInterface]) {
        connection?.assumeIsolated { $0.interfacesChanged(interfaces) }
    }

    func timerFired(at now: Instant) {
        connection?.assumeIsolated { $0.timerFired(at: now) }
    }
}
