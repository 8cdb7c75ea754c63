import NIOCore

/// A message as it leaves: framed once (RFC 6455 §5.2; a server does not mask), shared by every WebSocket that it goes
/// to.
public struct WebSocketMessage: Sendable {
    /// The whole frame.
    let frame: ByteBuffer
    /// How long the message is without the frame's head, in bytes.
    public let count: Int

    public init(_ payload: [UInt8], isText: Bool = false) {
        var frame = Self.head(of: payload.count, isText ? WebSocketOpcode.text : WebSocketOpcode.binary)
        frame.writeBytes(payload)
        self.frame = frame
        count = payload.count
    }

    public init(text: String) {
        var frame = Self.head(of: text.utf8.count, WebSocketOpcode.text)
        frame.writeString(text)
        self.frame = frame
        count = text.utf8.count
    }

    private static func head(of length: Int, _ opcode: UInt8) -> ByteBuffer {
        var frame = ByteBuffer()
        frame.reserveCapacity(length + WebSocketFraming.headLimit)
        WebSocketFraming.writeHead(length: length, opcode: opcode, into: &frame)
        return frame
    }

    /// The message without the frame's head.
    public var payload: [UInt8] { Array(frame.readableBytesView.suffix(count)) }
}

/// A message on its way to many WebSockets. It is handed over with one task for each event loop, in place of one for
/// each socket.
public struct WebSocketBroadcast: ~Copyable {
    /// What everybody gets.
    public let message: WebSocketMessage
    /// The loops that have some of the sockets, and which.
    private var loops: [ObjectIdentifier] = []
    private var sockets: [[ServerWebSocket]] = []

    public init(_ message: WebSocketMessage) { self.message = message }

    /// Has a socket get it with the others, under the terms of `ServerWebSocket.offer`.
    ///
    /// - Returns: false, and the socket is left out, when more than `limit` bytes would wait for it.
    public mutating func offer(to socket: ServerWebSocket, limit: Int) -> Bool {
        guard socket.reserve(message, limit: limit) else { return false }
        let loop = ObjectIdentifier(socket.context)
        if let place = loops.firstIndex(of: loop) {
            sockets[place].append(socket)
        } else {
            loops.append(loop)
            sockets.append([socket])
        }
        return true
    }

    /// Hands it over: before what is sent to any of them from now on.
    public consuming func send() {
        let message = message
        for sockets in sockets {
            sockets.first?.context.loop.execute { for socket in sockets { socket.writeOffered(message) } }
        }
    }
}
