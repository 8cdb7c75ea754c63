import NIOCore
import Synchronization

/// The sending end of one WebSocket of the server. From any thread, except where said otherwise.
final class WebSocketLink: @unchecked Sendable {
    let channel: any Channel
    /// On the channel's loop: whether the loop will flush it soon.
    var needsFlush = false

    init(channel: any Channel) { self.channel = channel }

    /// What NIO holds for this channel because the client's window is full. Written on the channel's loop.
    private let backlog = Atomic<Int>(0)
    private let allowance = LargestMessage()

    /// Whether `count` more bytes, which are then written, keep within the bound. Below the channel's high water mark
    /// there always is room.
    func hasRoom(for count: Int, limit: Int) -> Bool {
        if channel.isWritable { return allowance.permits(count, behind: 0, limit: limit) }
        if channel.eventLoop.inEventLoop { updateBacklog() }
        return allowance.permits(count, behind: backlog.load(ordering: .relaxed), limit: limit)
    }

    /// From another loop the last known figure serves until the channel's own loop has looked again.
    func noteWritten(_ count: Int) {
        guard !channel.eventLoop.inEventLoop, !channel.isWritable else { return }
        backlog.add(count, ordering: .relaxed)
        channel.eventLoop.execute { self.updateBacklog() }
    }

    private func updateBacklog() {
        let waiting = try? channel.syncOptions?.getOption(.bufferedWritableBytes)
        backlog.store(waiting ?? 0, ordering: .relaxed)
    }

    /// Sends an Engine.IO packet at once.
    func send(_ packet: EngineIOPacket) {
        var frame = ByteBuffer()
        WebSocketFraming.write(packet, into: &frame)
        channel.writeAndFlush(frame, promise: nil)
    }

    /// Whether a close frame has been sent: there is only one (RFC 6455 §5.5.1).
    private let saidGoodbye = Atomic(false)

    /// Answers a ping (RFC 6455 §5.5.3).
    func pong(_ payload: [UInt8]) {
        var frame = ByteBuffer()
        WebSocketFraming.write(payload[...], opcode: WebSocketOpcode.pong, into: &frame)
        channel.writeAndFlush(frame, promise: nil)
        noteWritten(frame.readableBytes)
    }

    /// Says goodbye with a close frame (RFC 6455 §7.1.2) and closes when the client has answered, or soon.
    func close(code: UInt16?, reason: String) {
        guard !saidGoodbye.exchange(true, ordering: .relaxed) else { return }
        sendClose(WebSocketFraming.closePayload(code, reason))
        // Closing a socket with unread bytes resets it, and the client would never see the reason.
        closeSoon()
    }

    /// Closes without a close frame when what was written has left, or soon. After a goodbye it waits as that does.
    func end() {
        guard !saidGoodbye.load(ordering: .relaxed) else { return }
        let channel = channel
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
        closeSoon()
    }

    private func closeSoon() {
        let channel = channel
        let patience = channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in patience.cancel() }
    }

    /// The client's close frame came: it gets ours, unless it has it, and the connection ends.
    func answerClose(_ code: UInt16?) {
        if !saidGoodbye.exchange(true, ordering: .relaxed) {
            sendClose(code.map { WebSocketFraming.closePayload($0, "") } ?? [])
        }
        channel.close(promise: nil)
    }

    private func sendClose(_ payload: [UInt8]) {
        var frame = ByteBuffer()
        WebSocketFraming.write(payload[...], opcode: WebSocketOpcode.close, into: &frame)
        channel.writeAndFlush(frame, promise: nil)
    }

    /// The same for the end of a session.
    func close(for reason: EngineIOCloseReason) {
        switch reason {
        case .transportClosed, .slowConsumer: channel.close(promise: nil)
        case .malformedText: close(code: 1007, reason: reason.sentence)
        case .transportError, .parseError: close(code: 1002, reason: reason.sentence)
        case .payloadTooLarge: close(code: 1009, reason: reason.sentence)
        case .flood, .connectTimeout, .pingTimeout: close(code: 1008, reason: reason.sentence)
        case .serverClosed: close(code: 1000, reason: reason.sentence)
        case .serverShutdown: close(code: 1001, reason: reason.sentence)
        }
    }
}

/// The largest message that waits does not count against a bound on all that waits, up to a bound of its own: who is
/// slow is known by what gathers behind it, and in a large room one message can be larger than the bound. From any
/// thread.
final class LargestMessage: Sendable {
    private let size = Atomic<Int>(0)
    private static let ceiling = 64 << 20

    /// - Parameter waiting: what waits already, in bytes.
    func permits(_ count: Int, behind waiting: Int, limit: Int) -> Bool {
        if waiting == 0 { size.store(0, ordering: .relaxed) }
        let largest = max(size.load(ordering: .relaxed), min(count, Self.ceiling))
        guard waiting + count - largest <= limit else { return false }
        size.max(largest, ordering: .relaxed)
        return true
    }
}
