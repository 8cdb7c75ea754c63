internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import SocketIO
internal import SwiftProtobuf
internal import Synchronization

/// A client's WebSocket on `/rtc`: frames to and from messages. Between two threads, that of the socket and that of the
/// room's worker; its lock guards what both see.
final class SignalConnection: SignalLink, WebSocketPeer {
    private enum Phase {
        /// The room has accepted, and the handshake is not done: what is to be sent waits, and whether it is the last.
        case opening(waiting: [LiveKitSignalResponse], isLast: Bool)
        case open(ServerWebSocket)
        case closed
    }

    private struct State {
        var phase = Phase.opening(waiting: [], isLast: false)
        var address: SignalAddress?
        /// A client that speaks JSON is answered in JSON, from its first such message on.
        var usesJSON = false
        /// The client has been told why it ends, and whether to come back.
        var hasSaidLeave = false
        /// Messages of the client's that the worker has not taken.
        var untaken = 0
        var isReading = true
    }

    let tokenExpires: Date
    private let inbox: SignalInbox
    private let state = Mutex(State())

    /// What of a client waits for its worker at most: then it is not read from, until half of it is done.
    private static let untakenLimit = 128
    /// What waits for the handshake at most, in messages.
    private static let waitingLimit = 1_024
    /// LiveKit's limit for a message; ours for what waits to be sent, and for how fast a client may speak. In a large
    /// room each change is an offer of up to a megabyte.
    static let terms = WebSocketTerms(
        messageLimit: 2 << 20, outboundLimit: 8 << 20, pingInterval: .seconds(10),
        flood: .init(messagesPerSecond: 100, messageBurst: 1_000, bytesPerSecond: 2_097_152, byteBurst: 16_777_216))

    init(inbox: SignalInbox, tokenExpires: Date) {
        self.inbox = inbox
        self.tokenExpires = tokenExpires
    }

    // MARK: From the worker

    func attached(as address: SignalAddress) { state.withLock { $0.address = address } }

    func send(_ response: LiveKitSignalResponse) {
        let (socket, usesJSON) = state.withLock { state -> (ServerWebSocket?, Bool) in
            if case .leave = response.message { state.hasSaidLeave = true }
            switch state.phase {
            case .opening(let waiting, let isLast):
                // A handshake takes no time; where it does, the client is too late.
                let isFull = waiting.count >= Self.waitingLimit
                state.phase = .opening(waiting: isFull ? waiting : waiting + [response], isLast: isLast || isFull)
                return (nil, false)
            case .open(let socket): return (socket, state.usesJSON)
            case .closed: return (nil, false)
            }
        }
        if let socket { Self.write(response, to: socket, usesJSON: usesJSON) }
    }

    func close() {
        let (socket, hasSaidLeave) = state.withLock { state -> (ServerWebSocket?, Bool) in
            switch state.phase {
            case .opening(let waiting, _):
                state.phase = .opening(waiting: waiting, isLast: true)
                return (nil, false)
            case .open(let socket): return (socket, state.hasSaidLeave)
            case .closed: return (nil, false)
            }
        }
        if let socket { Self.close(socket, hasSaidLeave) }
    }

    /// RFC 6455 §7.4.1: 1000 says that all is done. LiveKit's JavaScript SDK comes back after any other code.
    private static func close(_ socket: ServerWebSocket, _ hasSaidLeave: Bool) {
        socket.close(code: hasSaidLeave ? 1000 : 1001)
    }

    func messageTaken() {
        let socket = state.withLock { state -> ServerWebSocket? in
            state.untaken -= 1
            guard case .open(let socket) = state.phase, !state.isReading, state.untaken <= Self.untakenLimit / 2 else {
                return nil
            }
            state.isReading = true
            return socket
        }
        if let socket { updateReading(socket) }
    }

    private func updateReading(_ socket: ServerWebSocket) {
        socket.updateReading { [weak self] in self?.state.withLock { $0.isReading } ?? true }
    }

    private static func write(_ response: LiveKitSignalResponse, to socket: ServerWebSocket, usesJSON: Bool) {
        if usesJSON {
            guard let text: [UInt8] = try? response.jsonUTF8Bytes() else { return }
            socket.send(text, isText: true)
        } else {
            guard let bytes: [UInt8] = try? response.serializedBytes() else { return }
            socket.send(bytes)
        }
    }

    // MARK: From the socket

    func webSocketOpened(_ socket: ServerWebSocket) {
        // What the worker says meanwhile waits behind. Not under the lock: a write that fails ends the socket at once.
        while true {
            let (waiting, isLast) = state.withLock { state -> ([LiveKitSignalResponse], Bool?) in
                guard case .opening(let waiting, let isLast) = state.phase else { return ([], false) }
                guard waiting.isEmpty else {
                    state.phase = .opening(waiting: [], isLast: isLast)
                    return (waiting, nil)
                }
                state.phase = .open(socket)
                return ([], isLast)
            }
            for response in waiting { Self.write(response, to: socket, usesJSON: false) }
            guard let isLast else { continue }
            if isLast { Self.close(socket, state.withLock(\.hasSaidLeave)) }
            return
        }
    }

    func webSocketReceived(_ message: [UInt8], isText: Bool) {
        guard let request = Self.read(message, isText: isText) else {
            let socket = state.withLock { state -> ServerWebSocket? in
                if case .open(let socket) = state.phase { socket } else { nil }
            }
            // RFC 6455 §7.4.1: what it holds is not what it should.
            socket?.close(code: 1007, reason: "This is no message of LiveKit's protocol.")
            return
        }
        let (address, paused) = state.withLock { state -> (SignalAddress?, ServerWebSocket?) in
            state.usesJSON = isText
            guard let address = state.address else { return (nil, nil) }
            state.untaken += 1
            guard case .open(let socket) = state.phase, state.isReading, state.untaken >= Self.untakenLimit else {
                return (address, nil)
            }
            state.isReading = false
            return (address, socket)
        }
        if let paused { updateReading(paused) }
        if let address { inbox.append(.message(ClientMessage(request), from: self), at: address) }
    }

    func webSocketClosed() {
        let address = state.withLock { state in
            state.phase = .closed
            return state.address
        }
        if let address { inbox.append(.closed, at: address) }
    }

    private static func read(_ message: [UInt8], isText: Bool) -> LiveKitSignalRequest? {
        guard isText else { return try? LiveKitSignalRequest(serializedBytes: message) }
        var options = JSONDecodingOptions()
        options.ignoreUnknownFields = true
        return try? LiveKitSignalRequest(jsonUTF8Bytes: message, options: options)
    }
}
