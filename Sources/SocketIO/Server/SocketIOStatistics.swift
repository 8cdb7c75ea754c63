import Synchronization

/// Counters of a `SocketIOServer` since it was made, for `/metrics`.
public struct SocketIOStatistics: Hashable, Sendable {
    /// Sessions open now, and those of them on a WebSocket.
    public var connections = 0, webSockets = 0
    /// Sessions opened, ever.
    public var connectionsOpened = 0
    /// Members of namespaces now.
    public var sockets = 0
    /// Events received, and events sent (each receiver of a broadcast counts).
    public var eventsIn = 0, eventsOut = 0
    /// Bytes of messages received and sent, without the transport's framing.
    public var bytesIn = 0, bytesOut = 0
    /// Engine.IO requests refused, and namespaces refused.
    public var requestsRefused = 0, connectErrors = 0
    /// Ended sessions by `EngineIOCloseReason.label`.
    public var closedByReason: [String: Int] = [:]
}

/// The counters behind `SocketIOStatistics`: each is atomic. Read in no order but one: a session that is
/// no longer among `connections` has its reason in `closed`.
final class ServerCounters: Sendable {
    let connections = Atomic<Int>(0), webSockets = Atomic<Int>(0), connectionsOpened = Atomic<Int>(0)
    let sockets = Atomic<Int>(0)
    let eventsIn = Atomic<Int>(0), eventsOut = Atomic<Int>(0)
    let bytesIn = Atomic<Int>(0), bytesOut = Atomic<Int>(0)
    let requestsRefused = Atomic<Int>(0), connectErrors = Atomic<Int>(0)
    /// Written once per ended session, by whichever loop it lived on.
    private let closed = Mutex<[String: Int]>([:])

    func sessionClosed(_ reason: EngineIOCloseReason) {
        closed.withLock { $0[reason.label, default: 0] += 1 }
    }

    var snapshot: SocketIOStatistics {
        SocketIOStatistics(
            connections: connections.value, webSockets: webSockets.value,
            connectionsOpened: connectionsOpened.value, sockets: sockets.value, eventsIn: eventsIn.value,
            eventsOut: eventsOut.value, bytesIn: bytesIn.value, bytesOut: bytesOut.value,
            requestsRefused: requestsRefused.value, connectErrors: connectErrors.value,
            closedByReason: closed.withLock { $0 })
    }
}

extension Atomic<Int> {
    var value: Int { load(ordering: .relaxed) }
    func add(_ count: Int) { add(count, ordering: .relaxed) }
}
