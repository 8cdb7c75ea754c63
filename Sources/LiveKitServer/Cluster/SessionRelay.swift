internal import SocketIO
internal import Synchronization

/// A client's WebSocket and the cluster's, which belong together: what comes on one goes out on the other, message by
/// message. Between two threads, those of the two sockets; its lock guards what both see.
final class SessionRelay: WebSocketPeer {
    private struct State {
        var client: ServerWebSocket?
        var toClient = RelayWindow()
        var toCluster = RelayWindow()
        var saidGoodbye = false
    }

    private let cluster: MessageSocket
    private let ended: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter ended: called once, when the client's socket is closed.
    init(to cluster: MessageSocket, ended: @escaping @Sendable () -> Void) {
        self.cluster = cluster
        self.ended = ended
    }

    func webSocketOpened(_ socket: ServerWebSocket) {
        state.withLock { $0.client = socket }
        // Until now the cluster's messages were left with it.
        cluster.start { [self] fact in
            switch fact {
            case .message(let message, let isText): passToClient(message, isText: isText, socket)
            case .goodbye(let code, let reason): socket.close(code: code, reason: reason)
            // Gone without a word, so its client gets none either. After a goodbye it changes nothing: a socket that is
            // closed with unread bytes is reset, and the goodbye lost with what was said before it.
            case .closed: socket.end()
            }
        }
    }

    private func passToClient(_ message: [UInt8], isText: Bool, _ socket: ServerWebSocket) {
        let count = message.count
        if state.withLock({ $0.toClient.passed(count) }) { updateCluster() }
        socket.send(message, isText: isText) { [self] in
            if state.withLock({ $0.toClient.written(count) }) { updateCluster() }
        }
    }

    private func updateCluster() {
        cluster.updateReading { [self] in state.withLock { !$0.toClient.isFull } }
    }

    func webSocketReceived(_ message: [UInt8], isText: Bool) {
        let count = message.count
        if state.withLock({ $0.toCluster.passed(count) }) { updateClient() }
        cluster.send(message, isText: isText) { [self] in
            if state.withLock({ $0.toCluster.written(count) }) { updateClient() }
        }
    }

    private func updateClient() {
        let client = state.withLock { $0.client }
        client?.updateReading { [self] in state.withLock { !$0.toCluster.isFull } }
    }

    func webSocketSaidGoodbye(code: UInt16?, reason: String) {
        state.withLock { $0.saidGoodbye = true }
        cluster.close(code: code, reason: reason)
    }

    func webSocketClosed() {
        if !state.withLock({ $0.saidGoodbye }) { cluster.end() }
        ended()
    }
}

/// How much is on its way from one side to the other. When that is too much, the one that sends is not read from until
/// half of it has left.
struct RelayWindow: Equatable {
    static let limit = 256 << 10

    private(set) var bytes = 0
    private(set) var isFull = false

    /// True when it is full now and was not.
    mutating func passed(_ count: Int) -> Bool {
        bytes += count
        guard !isFull, bytes >= Self.limit else { return false }
        isFull = true
        return true
    }

    /// True when it is full no longer.
    mutating func written(_ count: Int) -> Bool {
        bytes -= count
        guard isFull, bytes <= Self.limit / 2 else { return false }
        isFull = false
        return true
    }
}
