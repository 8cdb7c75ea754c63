import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The WebSocket transport of a client. Lives on one event loop.
final class WebSocketClient: @unchecked Sendable {
    enum Fact {
        case connected
        case packet(EngineIOPacket)
        case closed(EngineIOClientCloseReason)
    }

    private let loop: any EventLoop
    private let report: (WebSocketClient, Fact) -> Void
    private var channel: (any Channel)?
    private var isOpen = false
    private var isClosed = false

    init(
        endpoint: ClientEndpoint, target: String, loop: any EventLoop, limit: Int,
        report: @escaping (WebSocketClient, Fact) -> Void
    ) {
        self.loop = loop
        self.report = report
        let head = endpoint.head(.GET, target)
        endpoint.connect(on: loop) { [weak self] channel in
            let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes))
            let encoder = HTTPRequestEncoder()
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandlers(encoder, decoder)
            try pipeline.addHandler(
                WebSocketHandshakeHandler(
                    endpoint: endpoint, request: head, limit: limit, encoder: encoder, decoder: decoder
                ) {
                    self?.received($0)
                })
        }.whenComplete { result in
            switch result {
            case .success(let channel):
                self.channel = channel
                if self.isClosed { channel.close(promise: nil) }
            case .failure(let error): self.ended(endpoint.closeReason(error))
            }
        }
    }

    private func received(_ fact: Fact) {
        guard !isClosed else { return }
        switch fact {
        case .connected:
            isOpen = true
            report(self, .connected)
        case .packet: report(self, fact)
        case .closed(let reason): ended(reason)
        }
    }

    private func ended(_ reason: EngineIOClientCloseReason) {
        guard !isClosed else { return }
        isClosed = true
        report(self, .closed(reason))
    }

    /// Sends packets, one frame each, in one write.
    func send(_ packets: [EngineIOPacket]) {
        guard let channel, isOpen, !isClosed else { return }
        var frames = channel.allocator.buffer(capacity: packets.reduce(0) { $0 + $1.count + 15 })
        for packet in packets { WebSocketFraming.write(packet, mask: .random(in: 0...UInt32.max), into: &frames) }
        channel.writeAndFlush(frames, promise: nil)
    }

    /// Closes; nothing is reported afterwards. Done when the connection is closed. A server that does not read holds
    /// nobody up for longer than `limit`.
    @discardableResult
    func close(saying packet: EngineIOPacket? = nil, within limit: TimeAmount = .seconds(3)) -> EventLoopFuture<Void> {
        if let packet { send([packet]) }
        let wasOpen = isOpen && !isClosed
        isClosed = true
        guard let channel else { return loop.makeSucceededVoidFuture() }
        guard wasOpen, channel.isActive else {
            channel.close(promise: nil)
            return channel.closeFuture
        }
        var frame = channel.allocator.buffer(capacity: 8)
        let payload = WebSocketFraming.closePayload(1000, "")
        WebSocketFraming.write(
            payload[...], opcode: WebSocketOpcode.close, mask: .random(in: 0...UInt32.max), into: &frame)
        let patience = loop.scheduleTask(in: limit) { channel.close(promise: nil) }
        channel.writeAndFlush(frame).whenComplete { _ in
            patience.cancel()
            channel.close(promise: nil)
        }
        return channel.closeFuture
    }
}

/// Asks for the WebSocket (RFC 6455 §4.1), checks the answer, and puts the frame handlers in its own place.
private final class WebSocketHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private enum Phase {
        case waiting
        /// The answer was right; its end has to pass before the pipeline changes.
        case accepted
        /// The HTTP handlers are leaving; frames that came together with the answer wait for the frames' handler.
        case upgrading(early: [NIOAny])
        case refused(HTTPResponseHead, body: [UInt8])
        case done
    }

    private let endpoint: ClientEndpoint
    private var request: HTTPRequestHead
    private let limit: Int
    private let encoder: HTTPRequestEncoder
    private let decoder: ByteToMessageHandler<HTTPResponseDecoder>
    private let report: (WebSocketClient.Fact) -> Void
    private let upgrader: NIOWebSocketClientUpgrader
    private var phase = Phase.waiting

    init(
        endpoint: ClientEndpoint, request: HTTPRequestHead, limit: Int, encoder: HTTPRequestEncoder,
        decoder: ByteToMessageHandler<HTTPResponseDecoder>, report: @escaping (WebSocketClient.Fact) -> Void
    ) {
        self.endpoint = endpoint
        self.request = request
        self.limit = limit
        self.encoder = encoder
        self.decoder = decoder
        self.report = report
        upgrader = NIOWebSocketClientUpgrader { channel, _ in channel.eventLoop.makeSucceededVoidFuture() }
    }

    func channelActive(context: ChannelHandlerContext) {
        upgrader.addCustom(upgradeRequestHeaders: &request.headers)
        request.headers.replaceOrAdd(name: "Connection", value: "Upgrade")
        request.headers.replaceOrAdd(name: "Upgrade", value: "websocket")
        context.write(wrapOutboundOut(.head(request)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .upgrading(let early) = phase {
            phase = .upgrading(early: early + [data])
            return
        }
        switch (unwrapInboundIn(data), phase) {
        case (.head(let head), .waiting):
            guard head.status == .switchingProtocols else {
                phase = .refused(head, body: [])
                return
            }
            guard upgrader.shouldAllowUpgrade(upgradeResponse: head) else {
                return end(.protocolError("the WebSocket handshake's answer is wrong"), context)
            }
            phase = .accepted
        case (.end, .accepted): upgrade(context)
        case (.body(let buffer), .refused(let head, let body)):
            guard body.count + buffer.readableBytes <= 65_536 else { return refused(head, body, context) }
            phase = .refused(head, body: body + buffer.readableBytesView)
        case (.end, .refused(let head, let body)): refused(head, body, context)
        case (.head, _), (.body, _), (.end, _): break
        }
    }

    private func refused(_ head: HTTPResponseHead, _ body: [UInt8], _ context: ChannelHandlerContext) {
        end(.refusal(Int(head.status.code), body), context)
    }

    private func upgrade(_ context: ChannelHandlerContext) {
        phase = .upgrading(early: [])
        let pipeline = context.pipeline.syncOperations
        pipeline.removeHandler(encoder, promise: nil)
        // The decoder also watches what is written, and leaves only when it has handed over its last bytes.
        let hasLeft = context.eventLoop.makePromise(of: Void.self)
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        hasLeft.futureResult.whenComplete { _ in
            let (handler, context) = loopBound.value
            handler.httpHandlersLeft(context)
        }
        pipeline.removeHandler(decoder, promise: hasLeft)
    }

    private func httpHandlersLeft(_ context: ChannelHandlerContext) {
        guard case .upgrading(let early) = phase else { return }
        phase = .done
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(WebSocketClientHandler(endpoint: endpoint, limit: limit, report: report))
        } catch {
            report(.closed(endpoint.closeReason(error)))
            return context.close(promise: nil)
        }
        report(.connected)
        for bytes in early { context.fireChannelRead(bytes) }
        context.fireChannelReadComplete()
        pipeline.removeHandler(context: context, promise: nil)
    }

    private func end(_ reason: EngineIOClientCloseReason, _ context: ChannelHandlerContext) {
        switch phase {
        case .done: return
        case .waiting, .accepted, .upgrading, .refused: phase = .done
        }
        report(.closed(reason))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(endpoint.closeReason(HTTPClientHandler.ClosedBeforeResponse()), context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(endpoint.closeReason(error), context)
    }
}

/// The receiving end of a client's WebSocket.
private final class WebSocketClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Phase {
        case open
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
        guard case .open = phase else { return }
        do throws(WebSocketFault) {
            try reader.receive(buffer.readableBytesSpan) { received($0, context) }
        } catch {
            end(.protocolError(error.text), code: error.code, context)
        }
    }

    private func received(_ message: WebSocketReader.Message, _ context: ChannelHandlerContext) {
        guard case .open = phase else { return }
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
        case .pong, .fragment: break
        case .close(let code): end(.serverClosed, code: code ?? 1000, context)
        }
    }

    private func end(_ reason: EngineIOClientCloseReason, code: UInt16, _ context: ChannelHandlerContext) {
        guard case .open = phase else { return }
        phase = .ended
        report(.closed(reason))
        var frame = context.channel.allocator.buffer(capacity: 8)
        WebSocketFraming.write(
            WebSocketFraming.closePayload(code, "")[...], opcode: WebSocketOpcode.close,
            mask: .random(in: 0...UInt32.max), into: &frame)
        context.writeAndFlush(NIOAny(frame), promise: nil)
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
