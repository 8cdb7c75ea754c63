import NIOCore
import NIOHTTP1

/// One kept-alive HTTP/1.1 connection of a client that carries one request at a time. Lives on one event loop.
final class HTTPClientConnection: @unchecked Sendable {
    struct Response {
        var status: Int
        var headers: [(name: String, value: String)]
        var body: [UInt8]
    }

    private let endpoint: ClientEndpoint
    let loop: any EventLoop
    private let limit: Int
    private var channel: (any Channel)?
    private var isClosed = false

    init(endpoint: ClientEndpoint, loop: any EventLoop, limit: Int) {
        self.endpoint = endpoint
        self.loop = loop
        self.limit = limit
    }

    /// Sends a request and collects the response. A kept-alive connection that turns out to be closed is made again
    /// once, when the request had no effect yet (RFC 9112 §9.3.1 allows it for GET).
    ///
    /// - Parameter heard: is given the status and the fields, on the loop, when they have come: before the body, which
    ///   may be too large, or never end.
    func perform(
        _ method: HTTPMethod, _ target: String, body: [UInt8]? = nil, headers: [(name: String, value: String)] = [],
        heard: (@Sendable (Response) -> Void)? = nil
    ) -> EventLoopFuture<Response> {
        let isReused = channel?.isActive ?? false
        return connected().flatMap { channel in
            guard !self.isClosed, channel.isActive else {
                return self.loop.makeFailedFuture(HTTPClientHandler.ClosedBeforeResponse())
            }
            let promise = self.loop.makePromise(of: Response.self)
            var head = self.endpoint.head(method, target)
            if let body {
                head.headers.replaceOrAdd(name: "Content-Type", value: "text/plain;charset=UTF-8")
                head.headers.replaceOrAdd(name: "Content-Length", value: String(body.count))
            }
            for (name, value) in headers { head.headers.replaceOrAdd(name: name, value: value) }
            // A write that fails never reached the handler that would answer the promise.
            channel.writeAndFlush(HTTPClientExchange(head: head, body: body, heard: heard, promise: promise))
                .whenFailure { promise.fail($0) }
            return promise.futureResult
        }.flatMapError { error in
            guard isReused, method == .GET, error is HTTPClientHandler.ClosedBeforeResponse else {
                return self.loop.makeFailedFuture(error)
            }
            self.channel = nil
            return self.perform(method, target, body: body, headers: headers, heard: heard)
        }
    }

    private func connected() -> EventLoopFuture<any Channel> {
        if let channel, channel.isActive { return loop.makeSucceededFuture(channel) }
        let limit = limit
        return endpoint.connect(on: loop) { channel in
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
            try pipeline.addHandler(HTTPClientHandler(limit: limit))
        }.map { channel in
            if self.isClosed { channel.close(promise: nil) }
            self.channel = channel
            return channel
        }
    }

    /// Closes the connection; a request under way fails. A server that does not answer the end of TLS holds nobody up
    /// for longer than `limit`.
    func close(within limit: TimeAmount = .seconds(3)) -> EventLoopFuture<Void> {
        isClosed = true
        guard let channel else { return loop.makeSucceededVoidFuture() }
        channel.closeAtOnce(in: limit)
        channel.close(promise: nil)
        return channel.closeFuture
    }
}

/// A request on its way through the pipeline.
struct HTTPClientExchange: Sendable {
    let head: HTTPRequestHead
    let body: [UInt8]?
    let heard: (@Sendable (HTTPClientConnection.Response) -> Void)?
    let promise: EventLoopPromise<HTTPClientConnection.Response>
}

extension HTTPClientConnection.Response {
    fileprivate init(_ head: HTTPResponseHead, body: [UInt8]) {
        self.init(
            status: Int(head.status.code), headers: head.headers.map { ($0.name, $0.value) }, body: body)
    }
}

/// Turns an exchange into HTTP parts and its response into a promise.
final class HTTPClientHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientExchange
    typealias OutboundOut = HTTPClientRequestPart

    /// The server closed an idle connection while the request was on its way.
    struct ClosedBeforeResponse: Error {}

    /// The response is longer than the connection takes.
    struct ResponseTooLarge: Error {}

    private enum Phase {
        case idle
        case awaitingHead(HTTPClientExchange)
        case reading(HTTPClientExchange, HTTPResponseHead, body: [UInt8])
    }

    private let limit: Int
    private var phase = Phase.idle

    init(limit: Int) { self.limit = limit }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = unwrapOutboundIn(data)
        guard context.channel.isActive else { return exchange.promise.fail(ClosedBeforeResponse()) }
        phase = .awaitingHead(exchange)
        context.write(wrapOutboundOut(.head(exchange.head)), promise: nil)
        if let body = exchange.body {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        }
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), phase) {
        case (.head(let head), .awaitingHead(let exchange)):
            // RFC 9110 §15.2: interim responses precede the real one.
            guard head.status.code >= 200 else { return }
            phase = .reading(exchange, head, body: [])
            exchange.heard?(HTTPClientConnection.Response(head, body: []))
        case (.body(let buffer), .reading(let exchange, let head, var body)):
            guard body.count + buffer.readableBytes <= limit else {
                return fail(ResponseTooLarge(), context)
            }
            phase = .idle
            body += buffer.readableBytesView
            phase = .reading(exchange, head, body: body)
        case (.end, .reading(let exchange, let head, let body)):
            phase = .idle
            if !head.isKeepAlive { context.close(promise: nil) }
            exchange.promise.succeed(HTTPClientConnection.Response(head, body: body))
        case (.head, _), (.body, _), (.end, _): break
        }
    }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        let failed = phase
        phase = .idle
        switch failed {
        case .idle: break
        case .awaitingHead(let exchange), .reading(let exchange, _, _): exchange.promise.fail(error)
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        switch phase {
        case .idle, .awaitingHead: fail(ClosedBeforeResponse(), context)
        case .reading: fail(EngineIOClientCloseReason.serverClosed, context)
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error, context) }
}
