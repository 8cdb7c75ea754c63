import NIOCore

/// A WebSocket of the server outside the Socket.IO path. From any thread.
public final class ServerWebSocket: Sendable {
    private let link: WebSocketLink
    private let outboundLimit: Int

    init(_ link: WebSocketLink, outboundLimit: Int) {
        self.link = link
        self.outboundLimit = outboundLimit
    }

    /// Sends a message. Whoever does not read what was sent before is dropped.
    public func send(_ message: [UInt8], isText: Bool = false) {
        guard link.hasRoom(for: message.count, limit: outboundLimit) else { return link.channel.close(promise: nil) }
        let opcode = isText ? WebSocketOpcode.text : WebSocketOpcode.binary
        var frame = ByteBuffer()
        frame.reserveCapacity(message.count + WebSocketFraming.headLimit)
        WebSocketFraming.write(message[...], opcode: opcode, into: &frame)
        let count = frame.readableBytes
        link.channel.writeAndFlush(frame, promise: nil)
        link.noteWritten(count)
    }

    /// Says goodbye with a close frame, after what was sent before, and closes when the client has answered, or soon.
    public func close(code: UInt16 = 1000, reason: String = "") { link.close(code: code, reason: reason) }

    /// Whether messages are read. Those that wait stay with the client.
    public func setReading(_ isReading: Bool) {
        link.channel.setOption(.autoRead, value: isReading).whenComplete { _ in }
    }
}
