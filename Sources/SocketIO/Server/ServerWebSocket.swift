import NIOCore
import Synchronization

/// A WebSocket of the server outside the Socket.IO path. From any thread.
public final class ServerWebSocket: Sendable {
    private let link: WebSocketLink
    private let outboundLimit: Int
    /// Bytes of other threads on their way to the channel's loop.
    private let handedOver = Atomic<Int>(0)

    init(_ link: WebSocketLink, outboundLimit: Int) {
        self.link = link
        self.outboundLimit = outboundLimit
    }

    /// Sends a message. Whoever does not read what was sent before is dropped.
    ///
    /// - Parameter written: called when the system has taken it, or when it never will.
    public func send(_ message: [UInt8], isText: Bool = false, written: (@Sendable () -> Void)? = nil) {
        guard !link.channel.eventLoop.inEventLoop else { return write(message, isText: isText, written) }
        let count = message.count
        let waiting = handedOver.wrappingAdd(count, ordering: .relaxed).newValue
        // What is on its way counts like what the channel holds.
        guard waiting <= outboundLimit else { return link.channel.close(promise: nil) }
        link.channel.eventLoop.execute {
            self.handedOver.wrappingSubtract(count, ordering: .relaxed)
            self.write(message, isText: isText, written)
        }
    }

    private func write(_ message: [UInt8], isText: Bool, _ written: (@Sendable () -> Void)?) {
        guard link.hasRoom(for: message.count, limit: outboundLimit) else { return link.channel.close(promise: nil) }
        let opcode = isText ? WebSocketOpcode.text : WebSocketOpcode.binary
        var frame = ByteBuffer()
        frame.reserveCapacity(message.count + WebSocketFraming.headLimit)
        WebSocketFraming.write(message[...], opcode: opcode, into: &frame)
        guard let written else { return link.channel.writeAndFlush(frame, promise: nil) }
        link.channel.writeAndFlush(frame).whenComplete { _ in written() }
    }

    /// Says goodbye with a close frame, after what was sent before, and closes when the client has answered, or soon.
    public func close(code: UInt16? = 1000, reason: String = "") {
        link.channel.eventLoop.execute { self.link.close(code: code, reason: reason) }
    }

    /// Ends it after what was sent before, without a word, as when a server is gone.
    public func end() {
        link.channel.eventLoop.execute { self.link.end() }
    }

    /// Has messages read, or left with the client. Asked on the socket's loop, so that the latest wish holds, whoever
    /// has changed it.
    public func updateReading(_ isWanted: @escaping @Sendable () -> Bool) {
        let channel = link.channel
        channel.eventLoop.execute { channel.setOption(.autoRead, value: isWanted()).whenComplete { _ in } }
    }
}
