internal import LiveKitProtocol
internal import SocketIO
internal import SwiftProtobuf
internal import Synchronization

/// A worker's WebSocket on `/agent`: frames to and from messages. From any thread; its lock guards what both sides see.
final class AgentConnection: WebSocketPeer {
    private struct State {
        var socket: ServerWebSocket?
        /// A worker that speaks JSON is answered in JSON, from its first such message on.
        var usesJSON = false
    }

    /// The name of the API key that it came with.
    let key: String
    private let place: AgentPlaces.Place
    private let inbox: AsyncStream<Agents.News>.Continuation
    private let state = Mutex(State())

    /// LiveKit's limit for a message. Jobs come with what is said of their room and their participant.
    static let terms = WebSocketTerms(
        messageLimit: 2 << 20, outboundLimit: 16 << 20, pingInterval: .seconds(10),
        flood: .init(messagesPerSecond: 100, messageBurst: 1_000, bytesPerSecond: 2_097_152, byteBurst: 16_777_216))

    init(key: String, place: AgentPlaces.Place, inbox: AsyncStream<Agents.News>.Continuation) {
        self.key = key
        self.place = place
        self.inbox = inbox
    }

    // MARK: From the server

    func send(_ message: LiveKitServerMessage) {
        let (socket, usesJSON) = state.withLock { ($0.socket, $0.usesJSON) }
        guard let socket else { return }
        if usesJSON {
            guard let text: [UInt8] = try? message.jsonUTF8Bytes() else { return }
            socket.send(text, isText: true)
        } else {
            guard let bytes: [UInt8] = try? message.serializedBytes() else { return }
            socket.send(bytes)
        }
    }

    /// RFC 6455 §7.4.1: 1001 for a server that goes down, 1008 for who does not keep to the protocol.
    func close(code: UInt16, reason: String) {
        let socket = state.withLock { state in
            defer { state.socket = nil }
            return state.socket
        }
        socket?.close(code: code, reason: reason)
    }

    // MARK: From the socket

    func webSocketOpened(_ socket: ServerWebSocket) {
        state.withLock { $0.socket = socket }
        inbox.yield(.opened(self))
    }

    func webSocketReceived(_ message: [UInt8], isText: Bool) {
        guard let read = Self.read(message, isText: isText) else {
            return close(code: 1007, reason: "This is no message of LiveKit's protocol of agents.")
        }
        state.withLock { $0.usesJSON = isText }
        inbox.yield(.said(self, read))
    }

    func webSocketClosed() {
        state.withLock { $0.socket = nil }
        inbox.yield(.closed(self))
    }

    private static func read(_ message: [UInt8], isText: Bool) -> LiveKitWorkerMessage? {
        guard isText else { return try? LiveKitWorkerMessage(serializedBytes: message) }
        var options = JSONDecodingOptions()
        options.ignoreUnknownFields = true
        return try? LiveKitWorkerMessage(jsonUTF8Bytes: message, options: options)
    }
}
