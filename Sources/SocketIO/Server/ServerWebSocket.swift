import NIOCore
import Synchronization

/// A WebSocket of the server outside the Socket.IO path. From any thread; what is sent leaves in the order in which it
/// was handed over.
public final class ServerWebSocket: Sendable {
    private let link: WebSocketLink
    /// Of the channel's loop.
    let context: LoopContext
    private let outboundLimit: Int
    /// Bytes of frames on their way to the channel's loop.
    private let handedOver = Atomic<Int>(0)
    private let allowance = LargestMessage()
    /// Bytes of messages that were offered, and that the system has not taken.
    private let offered = Atomic<Int>(0)

    init(_ link: WebSocketLink, on context: LoopContext, outboundLimit: Int) {
        self.link = link
        self.context = context
        self.outboundLimit = outboundLimit
    }

    /// Sends a message. Whoever does not read what was sent before is dropped.
    ///
    /// - Parameter written: called when the system has taken it, or when it never will.
    public func send(_ message: [UInt8], isText: Bool = false, written: (@Sendable () -> Void)? = nil) {
        send(WebSocketMessage(message, isText: isText), written: written)
    }

    /// Sends a message. Whoever does not read what was sent before is dropped.
    ///
    /// - Parameter written: called when the system has taken it, or when it never will.
    public func send(_ message: WebSocketMessage, written: (@Sendable () -> Void)? = nil) {
        // On the loop it is written at once, unless something else is still on its way.
        if context.loop.inEventLoop, handedOver.load(ordering: .relaxed) == 0 { return write(message, written) }
        guard handOver(message) else { return dropped(written) }
        context.loop.execute {
            self.handedOver.wrappingSubtract(message.frame.readableBytes, ordering: .relaxed)
            self.write(message, written)
        }
    }

    /// Sends a message, as long as no more than `limit` bytes wait with it, of messages that were offered: until the
    /// system has taken them, wherever they are.
    ///
    /// - Returns: false, and nothing is sent, when there would be more.
    public func offer(_ message: WebSocketMessage, limit: Int) -> Bool {
        guard countOffer(of: message, within: limit) else { return false }
        send(message) { self.offered.wrappingSubtract(message.count, ordering: .relaxed) }
        return true
    }

    private func countOffer(of message: WebSocketMessage, within limit: Int) -> Bool {
        guard offered.wrappingAdd(message.count, ordering: .relaxed).newValue > limit else { return true }
        offered.wrappingSubtract(message.count, ordering: .relaxed)
        return false
    }

    /// What is on its way counts like what the channel holds.
    private func handOver(_ message: WebSocketMessage) -> Bool {
        let count = message.frame.readableBytes
        let waiting = handedOver.wrappingAdd(count, ordering: .relaxed).oldValue
        guard allowance.permits(count, behind: waiting, limit: outboundLimit) else {
            link.channel.close(promise: nil)
            return false
        }
        return true
    }

    /// How much waits of what was offered, in bytes.
    public var waiting: Int { offered.load(ordering: .relaxed) }

    /// The first half of `offer`, for what is handed over with other sockets'. `writeOffered` follows.
    func reserve(_ message: WebSocketMessage, limit: Int) -> Bool {
        guard countOffer(of: message, within: limit) else { return false }
        // Beyond the channel's own bound it is closed, and nothing will be written.
        _ = handOver(message)
        return true
    }

    /// The other half, on the channel's loop.
    func writeOffered(_ message: WebSocketMessage) {
        handedOver.wrappingSubtract(message.frame.readableBytes, ordering: .relaxed)
        write(message) { self.offered.wrappingSubtract(message.count, ordering: .relaxed) }
    }

    /// On the channel's loop. It leaves with what else is written before the loop looks at its sockets again.
    private func write(_ message: WebSocketMessage, _ written: (@Sendable () -> Void)?) {
        guard link.hasRoom(for: message.frame.readableBytes, limit: outboundLimit) else {
            link.channel.close(promise: nil)
            return dropped(written)
        }
        var promise: EventLoopPromise<Void>?
        if let written {
            promise = context.loop.makePromise(of: Void.self)
            promise?.futureResult.whenComplete { _ in written() }
        }
        context.write(message.frame, to: link, promise: promise)
        // What the system would take is not to count as what the client does not read.
        if !link.channel.isWritable { link.channel.flush() }
    }

    /// The socket is closed for what waits, so the system never takes this. Told in a turn of its own: who is told may
    /// send the next one at once.
    private func dropped(_ written: (@Sendable () -> Void)?) {
        if let written { context.loop.execute(written) }
    }

    /// Says goodbye with a close frame, after what was sent before, and closes when the client has answered, or soon.
    public func close(code: UInt16? = 1000, reason: String = "") {
        link.channel.eventLoop.execute { self.link.close(code: code, reason: reason) }
    }

    /// Ends it after what was sent before, without a word, as when a server is gone. After `close` it changes nothing.
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
