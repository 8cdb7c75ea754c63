import NIOCore
import NIOHTTP1
import NIOSSL

/// The WebSocket transport of a client. Lives on one event loop.
final class WebSocketClient: @unchecked Sendable {
    enum Fact {
        case connected
        case packet(EngineIOPacket)
        /// With the reason that the server gave with its goodbye, or with its refusal as plain text, if any.
        case closed(EngineIOClientCloseReason, saying: String = "")
    }

    private let loop: any EventLoop
    private let report: (WebSocketClient, Fact) -> Void
    private var channel: (any Channel)?
    private var isOpen = false
    private var isClosed = false
    private var answerTimer: Scheduled<Void>?

    /// - Parameter answerTimeout: from now until the server has accepted the WebSocket; whoever gives none sees to it.
    init(
        endpoint: ClientEndpoint, target: String, loop: any EventLoop, limit: Int, answerTimeout: Duration? = nil,
        report: @escaping (WebSocketClient, Fact) -> Void
    ) {
        self.loop = loop
        self.report = report
        let head = endpoint.head(.GET, target)
        endpoint.connect(on: loop) { [weak self] channel in
            let report: (Fact) -> Void = { self?.received($0) }
            try WebSocketHandshakeHandler.install(on: channel, endpoint: endpoint, request: head) { outcome in
                switch outcome {
                case .accepted:
                    try channel.pipeline.syncOperations.addHandler(
                        WebSocketClientHandler(endpoint: endpoint, limit: limit, report: report))
                    report(.connected)
                case .refused(let head, let body):
                    // What a proxy has to say comes as a page.
                    let isText = head.headers.first(name: "content-type")?.hasPrefix("text/plain") == true
                    let words = isText ? EngineIOClientCloseReason.oneLine(String(decoding: body, as: UTF8.self)) : ""
                    report(.closed(.refusal(Int(head.status.code), body), saying: words))
                case .failed(let reason): report(.closed(reason))
                }
            }
        }.whenComplete { result in
            switch result {
            case .success(let channel):
                self.channel = channel
                if self.isClosed { channel.close(promise: nil) }
            case .failure(let error): self.ended(endpoint.closeReason(error))
            }
        }
        guard let answerTimeout else { return }
        let patience = TimeAmount(answerTimeout)
        answerTimer = loop.scheduleTask(in: patience) { [weak self] () -> Void in
            guard let self else { return }
            self.ended(endpoint.closeReason(ChannelError.connectTimeout(patience)))
            self.channel?.close(promise: nil)
        }
    }

    private func received(_ fact: Fact) {
        guard !isClosed else { return }
        switch fact {
        case .connected:
            isOpen = true
            answerTimer?.cancel()
            report(self, .connected)
        case .packet: report(self, fact)
        case .closed(let reason, let words): ended(reason, saying: words)
        }
    }

    private func ended(_ reason: EngineIOClientCloseReason, saying words: String = "") {
        guard !isClosed else { return }
        isClosed = true
        answerTimer?.cancel()
        report(self, .closed(reason, saying: words))
    }

    /// Sends packets, one frame each, in one write.
    func send(_ packets: [EngineIOPacket]) {
        guard let channel, isOpen, !isClosed else { return }
        var frames = channel.allocator.buffer(capacity: packets.reduce(0) { $0 + $1.count + 15 })
        for packet in packets { WebSocketFraming.write(packet, mask: .random(in: 0...UInt32.max), into: &frames) }
        channel.writeAndFlush(frames, promise: nil)
    }

    /// Closes; nothing is reported afterwards. Done when the connection is closed. A server that does not read, or does
    /// not answer the end of TLS, holds nobody up for longer than `limit`.
    @discardableResult
    func close(saying packet: EngineIOPacket? = nil, within limit: TimeAmount = .seconds(3)) -> EventLoopFuture<Void> {
        if let packet { send([packet]) }
        let wasOpen = isOpen && !isClosed
        isClosed = true
        answerTimer?.cancel()
        guard let channel else { return loop.makeSucceededVoidFuture() }
        channel.closeAtOnce(in: limit)
        guard wasOpen, channel.isActive else {
            channel.close(promise: nil)
            return channel.closeFuture
        }
        channel.writeAndFlush(Self.closeFrame(1000, channel)).whenComplete { _ in channel.close(promise: nil) }
        return channel.closeFuture
    }

    /// Says goodbye after what was sent, and closes when the server has answered (RFC 6455 §7.1.1), or after `limit`:
    /// what a server sends meanwhile is read, for a connection that is closed with something unread is reset, and what
    /// the server had not read yet is lost. Nothing is reported afterwards. Done when the connection is closed.
    func finish(within limit: TimeAmount) -> EventLoopFuture<Void> {
        guard let channel, isOpen, !isClosed, channel.isActive,
            let handler = try? channel.pipeline.syncOperations.handler(type: WebSocketClientHandler.self)
        else { return close(within: limit) }
        isClosed = true
        handler.sayGoodbye(on: channel)
        channel.closeAtOnce(in: limit)
        return channel.closeFuture
    }

    fileprivate static func closeFrame(_ code: UInt16, _ channel: any Channel) -> ByteBuffer {
        var frame = channel.allocator.buffer(capacity: 8)
        WebSocketFraming.write(
            WebSocketFraming.closePayload(code, "")[...], opcode: WebSocketOpcode.close,
            mask: .random(in: 0...UInt32.max), into: &frame)
        return frame
    }
}

extension Channel {
    /// Whatever is still waited for after `limit`: the connection is closed then.
    func closeAtOnce(in limit: TimeAmount) {
        let patience = eventLoop.scheduleTask(in: limit) { self.closeAtOnce() }
        closeFuture.whenComplete { _ in patience.cancel() }
    }

    /// Without the peer's `close_notify`, for which `close` waits five seconds over TLS.
    private func closeAtOnce() {
        guard let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self) else {
            return close(promise: nil)
        }
        tls.close(promise: nil)
    }
}

/// The receiving end of a client's WebSocket.
private final class WebSocketClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Phase {
        case open
        /// We have said goodbye: the server's is waited for, and nothing else is of interest.
        case closing
        /// The end has been reported; whatever follows is dropped.
        case ended
    }

    private let endpoint: ClientEndpoint
    private var reader: WebSocketReader
    private var phase = Phase.open
    private let reads = ReadsInTurn()
    private let report: (WebSocketClient.Fact) -> Void

    init(endpoint: ClientEndpoint, limit: Int, report: @escaping (WebSocketClient.Fact) -> Void) {
        self.endpoint = endpoint
        reader = WebSocketReader(side: .client, limit: limit)
        self.report = report
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reads.take(unwrapInboundIn(data)) { receive($0, context) }
    }

    private func receive(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        guard phase != .ended else { return }
        do throws(WebSocketFault) {
            try reader.receive(buffer.readableBytesSpan) { received($0, context) }
        } catch {
            end(.protocolError(error.text), code: error.code, context)
        }
    }

    private func received(_ message: WebSocketReader.Message, _ context: ChannelHandlerContext) {
        if case .close(let code, let words) = message {
            return end(.serverClosed, code: code ?? 1000, saying: EngineIOClientCloseReason.oneLine(words), context)
        }
        guard phase == .open else { return }
        switch message {
        case .text(let bytes):
            do throws(EngineIOPacketError) {
                report(.packet(try EngineIOPacket(textFrame: bytes[...])))
            } catch {
                end(.protocolError("\(error)"), code: 1002, context)
            }
        case .binary(let bytes): report(.packet(.binary(bytes[...])))
        case .ping(let payload):
            var frame = context.channel.allocator.buffer(capacity: payload.count + 6)
            WebSocketFraming.write(
                payload[...], opcode: WebSocketOpcode.pong, mask: .random(in: 0...UInt32.max), into: &frame)
            context.writeAndFlush(NIOAny(frame), promise: nil)
        case .pong, .fragment, .close: break
        }
    }

    func sayGoodbye(on channel: any Channel) {
        guard phase == .open else { return }
        phase = .closing
        channel.writeAndFlush(WebSocketClient.closeFrame(1000, channel), promise: nil)
    }

    private func end(
        _ reason: EngineIOClientCloseReason, code: UInt16, saying words: String = "", _ context: ChannelHandlerContext
    ) {
        guard phase != .ended else { return }
        // RFC 6455 §5.5.1: one close frame of each side.
        let isAnswer = phase == .open
        phase = .ended
        report(.closed(reason, saying: words))
        if isAnswer {
            context.writeAndFlush(NIOAny(WebSocketClient.closeFrame(code, context.channel)), promise: nil)
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        report(.closed(.serverClosed))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        report(.closed(endpoint.closeReason(error)))
        context.close(promise: nil)
    }
}
