import NIOCore
import NIOHTTP1
import NIOWebSocket

/// What became of a client's request for a WebSocket.
enum WebSocketHandshakeOutcome {
    /// The connection is a WebSocket: whoever is told adds the handler that takes its bytes, before any come.
    case accepted
    /// The server answered with something else; of its body at most 64 KiB.
    case refused(HTTPResponseHead, body: [UInt8])
    case failed(EngineIOClientCloseReason)
}

/// Asks for the WebSocket (RFC 6455 §4.1), checks the answer, and leaves its place to the frames' handler.
final class WebSocketHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
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
    private let encoder: HTTPRequestEncoder
    private let decoder: ByteToMessageHandler<HTTPResponseDecoder>
    private let report: (WebSocketHandshakeOutcome) throws -> Void
    private let upgrader: NIOWebSocketClientUpgrader
    private var phase = Phase.waiting

    private init(
        endpoint: ClientEndpoint, request: HTTPRequestHead, encoder: HTTPRequestEncoder,
        decoder: ByteToMessageHandler<HTTPResponseDecoder>,
        report: @escaping (WebSocketHandshakeOutcome) throws -> Void
    ) {
        self.endpoint = endpoint
        self.request = request
        self.encoder = encoder
        self.decoder = decoder
        self.report = report
        upgrader = NIOWebSocketClientUpgrader { channel, _ in channel.eventLoop.makeSucceededVoidFuture() }
    }

    /// - Parameter report: called once, on the channel's loop.
    static func install(
        on channel: any Channel, endpoint: ClientEndpoint, request: HTTPRequestHead,
        report: @escaping (WebSocketHandshakeOutcome) throws -> Void
    ) throws {
        let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes))
        let encoder = HTTPRequestEncoder()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers(encoder, decoder)
        try pipeline.addHandler(
            WebSocketHandshakeHandler(
                endpoint: endpoint, request: request, encoder: encoder, decoder: decoder, report: report))
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
                return end(.failed(.protocolError("the WebSocket handshake's answer is wrong")), context)
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
        end(.refused(head, body: body), context)
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
            try report(.accepted)
        } catch {
            try? report(.failed(endpoint.closeReason(error)))
            return context.close(promise: nil)
        }
        for bytes in early { context.fireChannelRead(bytes) }
        context.fireChannelReadComplete()
        pipeline.removeHandler(context: context, promise: nil)
    }

    private func end(_ outcome: WebSocketHandshakeOutcome, _ context: ChannelHandlerContext) {
        switch phase {
        case .done: return
        case .waiting, .accepted, .upgrading, .refused: phase = .done
        }
        try? report(outcome)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.failed(endpoint.closeReason(HTTPClientHandler.ClosedBeforeResponse())), context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.failed(endpoint.closeReason(error)), context)
    }
}
