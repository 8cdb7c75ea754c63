internal import ChatCore
internal import ChatModel
internal import Foundation
internal import SocketIO
internal import Synchronization

/// A client's realtime socket. Between its loop and the hub; its lock guards what both see.
final class RealtimeConnection: WebSocketPeer, RealtimeReceiver {
    private struct State {
        var socket: ServerWebSocket?
        var isClosed = false
        var visitor: Visitor
        /// What nobody has looked at yet.
        var steps: [Step] = []
        /// How many of them are frames of the client.
        var unread = 0
        /// Whether a task takes the steps.
        var isWorking = false
        /// Whether the last step has come.
        var isOver = false
        /// Of a socket whose client has not said who it is.
        var place: UnnamedSockets.Place?
        /// Ends a socket whose client does not say who it is.
        var deadline: Task<Void, any Error>?
        /// When the client has asked for what it missed.
        var resumedAt: Timestamp?
    }

    /// What happens on the socket.
    enum Step: Sendable {
        case opened
        case request(Result<ClientRequest, BadFrame>)
        /// Nothing follows.
        case closed
    }

    /// Who is at the other end.
    enum Visitor: Sendable {
        /// Has not said who they are.
        case stranger
        /// Is known from the request for the socket. What they have seen of each workspace is for the beginning.
        case expected(Caller, resume: [WorkspaceID: Int64])
        case present(Caller)
        case refused
    }

    /// Close codes of ours (RFC 6455 §7.4.2).
    enum Reason {
        static let broken: (code: UInt16, text: String) = (1011, "internal_error")
        static let sessionOver: (code: UInt16, text: String) = (4001, "session_over")
        static let tooSlow: (code: UInt16, text: String) = (4008, "too_slow")
        static let tooFast: (code: UInt16, text: String) = (4029, "too_fast")
        static let tooMany: (code: UInt16, text: String) = (4009, "too_many_sockets")
        static let goingDown: (code: UInt16, text: String) = (1001, "going_down")
    }

    /// What of a client that does not read is kept for it, in bytes: handed over, and not with the system yet.
    private static let mostWaiting = 4 << 20
    private static let mostUnread = 256
    static let terms = WebSocketTerms(
        messageLimit: ChatServer.bodyLimit, outboundLimit: 2 * mostWaiting,
        pingInterval: .seconds(20),
        flood: .init(messagesPerSecond: 50, messageBurst: 500, bytesPerSecond: 262_144, byteBurst: 2_097_152))

    private let state: Mutex<State>
    private let counters: RealtimeCounters
    private let run: @Sendable (RealtimeConnection, Step) async -> Void

    /// - Parameters:
    ///   - place: of a stranger.
    ///   - run: what is done with what happens, one after the other.
    init(
        _ visitor: Visitor, place: UnnamedSockets.Place? = nil, counters: RealtimeCounters,
        run: @escaping @Sendable (RealtimeConnection, Step) async -> Void
    ) {
        state = Mutex(State(visitor: visitor, place: place))
        self.run = run
        self.counters = counters
    }

    // MARK: Step by step

    var visitor: Visitor { state.withLock { $0.visitor } }

    /// It is known who is at the other end.
    func turnsOut(to be: Visitor) {
        let deadline = state.withLock { state in
            state.visitor = be
            state.place = nil
            return state.deadline.take()
        }
        deadline?.cancel()
    }

    /// Closes the socket, unless it turns out before who is at the other end.
    func waitForName(_ patience: Duration) {
        let deadline = Task {
            try await Task.sleep(for: patience)
            close(Reason.sessionOver)
        }
        let isTooLate = state.withLock { state in
            if !state.isOver { state.deadline = deadline }
            return state.isOver
        }
        if isTooLate { deadline.cancel() }
    }

    /// A task goes through the steps until none is left: of a client that says nothing there is none.
    private func happened(_ step: Step) {
        let (isFirst, deadline) = state.withLock { state -> (Bool, Task<Void, any Error>?) in
            guard !state.isOver else { return (false, nil) }
            if case .closed = step {
                state.isOver = true
                state.place = nil
            }
            state.steps.append(step)
            defer { state.isWorking = true }
            return (!state.isWorking, state.isOver ? state.deadline.take() : nil)
        }
        deadline?.cancel()
        if isFirst { Task { while let step = nextStep() { await run(self, step) } } }
    }

    private func nextStep() -> Step? {
        state.withLock { state in
            guard !state.steps.isEmpty else {
                // Without the room for those that were.
                state.steps = []
                state.isWorking = false
                return nil
            }
            let step = state.steps.removeFirst()
            if case .request = step { state.unread -= 1 }
            return step
        }
    }

    // MARK: From the hub

    func send(_ frame: [UInt8]) {
        guard let socket = openSocket else { return }
        let message = WebSocketMessage(frame, isText: true)
        counters.framesSent.add()
        if !socket.offer(message, limit: Self.mostWaiting) { close(Reason.tooSlow) }
    }

    func take(_ broadcast: inout WebSocketBroadcast) {
        guard let socket = openSocket else { return }
        counters.framesSent.add()
        if !broadcast.offer(to: socket, limit: Self.mostWaiting) { close(Reason.tooSlow) }
    }

    /// Whether so much of what the client has missed may be sent: half of what may wait for it is left for what happens
    /// meanwhile.
    func hasRoom(forMissed bytes: Int) -> Bool {
        (openSocket?.waiting ?? 0) + bytes <= LogReading.mostMissedBytes
    }

    private var openSocket: ServerWebSocket? { state.withLock { $0.isClosed ? nil : $0.socket } }

    /// The client asks for what it has missed.
    ///
    /// - Throws: `ChatError` for whoever has done so within the last second.
    func resumeBegins(at now: Timestamp) throws(ChatError) {
        let isTooSoon = state.withLock { state in
            if let former = state.resumedAt, now - former < .seconds(1) { return true }
            state.resumedAt = now
            return false
        }
        if isTooSoon { throw .tooOften(retryAfter: .seconds(1)) }
    }

    func close(_ reason: (code: UInt16, text: String)) {
        let socket = state.withLock { state -> ServerWebSocket? in
            guard !state.isClosed else { return nil }
            state.isClosed = true
            return state.socket
        }
        if let socket {
            counters.serverClosed(reason.text)
            socket.close(code: reason.code, reason: reason.text)
        }
        happened(.closed)
    }

    // MARK: From the socket

    func webSocketOpened(_ socket: ServerWebSocket) {
        state.withLock { $0.socket = socket }
        happened(.opened)
    }

    /// Text, or the same as bytes, which is what `URLSessionWebSocketTask.Message.data` sends.
    func webSocketReceived(_ message: [UInt8], isText: Bool) {
        let isTooFast = state.withLock { state in
            state.unread += 1
            return state.unread > Self.mostUnread
        }
        guard !isTooFast else { return close(Reason.tooFast) }
        let message = Data(message)
        happened(
            .request(
                Result { try JSONDecoder().decode(ClientRequest.self, from: message) }
                    .mapError { BadFrame(message, $0) }))
    }

    func webSocketClosed() {
        state.withLock { $0.isClosed = true }
        happened(.closed)
    }
}
