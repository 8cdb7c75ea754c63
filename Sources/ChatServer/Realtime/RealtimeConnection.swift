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
        /// Frames of the client that nobody has looked at.
        var unread = 0
        /// When the client has asked for what it missed.
        var resumedAt: Timestamp?
    }

    /// Close codes of ours (RFC 6455 §7.4.2).
    enum Reason {
        static let sessionOver: (code: UInt16, text: String) = (4001, "session_over")
        static let tooSlow: (code: UInt16, text: String) = (4008, "too_slow")
        static let tooFast: (code: UInt16, text: String) = (4029, "too_fast")
        static let goingDown: (code: UInt16, text: String) = (1001, "going_down")
    }

    /// What of a client that does not read is kept for it, in bytes: handed over, and not with the system yet.
    private static let mostWaiting = 4 << 20
    private static let mostUnread = 256
    static let terms = WebSocketTerms(
        messageLimit: ChatServer.bodyLimit, outboundLimit: 2 * mostWaiting + LogReading.mostMissedBytes,
        pingInterval: .seconds(20),
        flood: .init(messagesPerSecond: 50, messageBurst: 500, bytesPerSecond: 262_144, byteBurst: 2_097_152))

    private let state = Mutex(State())
    private let requests: AsyncStream<Result<ClientRequest, BadFrame>>
    private let arriving: AsyncStream<Result<ClientRequest, BadFrame>>.Continuation
    private let run: @Sendable (RealtimeConnection, AsyncStream<Result<ClientRequest, BadFrame>>) async -> Void
    private let counters: RealtimeCounters

    /// - Parameter run: what is done with what the client says; called once, when the socket is open.
    init(
        counters: RealtimeCounters,
        run:
            @escaping @Sendable (
                RealtimeConnection, AsyncStream<Result<ClientRequest, BadFrame>>
            ) async -> Void
    ) {
        (requests, arriving) = AsyncStream.makeStream()
        self.run = run
        self.counters = counters
    }

    // MARK: From the hub

    func send(_ frame: [UInt8]) { send(frame, isMissed: false) }

    /// - Parameter isMissed: it is of what the client has asked for, which is bounded elsewhere: it does not make the
    ///   client a slow one.
    func send(_ frame: [UInt8], isMissed: Bool) {
        guard let socket = openSocket else { return }
        let message = WebSocketMessage(frame, isText: true)
        counters.framesSent.add()
        if isMissed { return socket.send(message) }
        if !socket.offer(message, limit: Self.mostWaiting) { close(Reason.tooSlow) }
    }

    func take(_ broadcast: inout WebSocketBroadcast) {
        guard let socket = openSocket else { return }
        counters.framesSent.add()
        if !broadcast.offer(to: socket, limit: Self.mostWaiting) { close(Reason.tooSlow) }
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

    /// The client's next frame may come.
    func requestTaken() { state.withLock { $0.unread -= 1 } }

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
        arriving.finish()
    }

    // MARK: From the socket

    func webSocketOpened(_ socket: ServerWebSocket) {
        state.withLock { $0.socket = socket }
        Task { await run(self, requests) }
    }

    /// Text, or the same as bytes, which is what `URLSessionWebSocketTask.Message.data` sends.
    func webSocketReceived(_ message: [UInt8], isText: Bool) {
        let isTooFast = state.withLock { state in
            state.unread += 1
            return state.unread > Self.mostUnread
        }
        guard !isTooFast else { return close(Reason.tooFast) }
        let message = Data(message)
        arriving.yield(
            Result { try JSONDecoder().decode(ClientRequest.self, from: message) }.mapError { BadFrame(message, $0) })
    }

    func webSocketClosed() {
        state.withLock { $0.isClosed = true }
        arriving.finish()
    }
}
