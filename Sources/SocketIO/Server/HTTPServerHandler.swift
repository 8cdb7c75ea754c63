import NIOCore
import NIOHTTP1

/// One HTTP connection of the server: collects each request within its size limit and sends it to Engine.IO or to
/// the fallback. Becomes a WebSocket when asked.
final class HTTPServerHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Phase {
        /// Between requests.
        case idle
        case collecting(HTTPRequestHead, body: [UInt8], limit: Int)
        /// The last answer was given, to a request that was refused before its end or another; the rest is dropped.
        case discarding
        /// A response is being made, or a WebSocket if the request asks for one.
        case responding(asksForUpgrade: Bool)
        /// This connection is a WebSocket now.
        case upgraded
    }

    /// What is held of a connection that is not parsed on: more than any head has.
    static let bufferLimit = 3 << 20

    /// A token of a LiveKit participant carries its metadata, and is one field or stands in the target: LiveKit's
    /// server takes heads of 1 MiB.
    static let headLimits = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = (1 << 20) + (16 << 10)
        return limits
    }()

    /// Of a request that was refused so much more is read and dropped, and so long: who sends nothing for a while has
    /// read the answer, or will not.
    static let discardLimit = 32 << 20
    private static let silenceLimit = TimeAmount.seconds(2)
    private static let lingerLimit = TimeAmount.seconds(10)

    let server: SocketIOServer
    private let httpHandlers: HTTPHandlers
    private var phase = Phase.idle
    private var deadline: Scheduled<Void>?
    /// The poll that is being held on this connection.
    private var heldPoll: (connection: ServerConnection, reply: PollReply)?
    /// Done when the system has taken the last answer.
    private var lastAnswer: EventLoopFuture<Void>?
    /// The client sends no more, and may still read.
    private var isInputClosed = false
    private var isGoingDown = false
    /// The request was refused before its end.
    private var isRefused = false
    /// Of what came behind a request that was refused.
    private var discarded = 0
    /// By when this connection is closed; nil before the answer to a request that was refused has left.
    private var lingersUntil: NIODeadline?

    private init(server: SocketIOServer, httpHandlers: HTTPHandlers) {
        self.server = server
        self.httpHandlers = httpHandlers
    }

    /// The handlers that leave when the connection becomes a WebSocket.
    struct HTTPHandlers {
        let encoder = HTTPResponseEncoder()
        let decoder = ByteToMessageHandler(
            HTTPRequestDecoder(
                leftOverBytesStrategy: .forwardBytes, informationalResponseStrategy: .drop,
                limitConfiguration: HTTPServerHandler.headLimits),
            maximumBufferSize: HTTPServerHandler.bufferLimit)
        let pipelining = HTTPServerPipelineHandler()
    }

    static func install(on channel: any Channel, server: SocketIOServer) throws {
        let handlers = HTTPHandlers()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers(handlers.encoder, handlers.decoder, handlers.pipelining)
        try pipeline.addHandler(HTTPServerHandler(server: server, httpHandlers: handlers))
    }

    // MARK: Connection

    func channelActive(context: ChannelHandlerContext) {
        server.opened(context.channel)
        let channel = context.channel
        let server = server
        channel.closeFuture.whenComplete { _ in server.closed(channel) }
        restartDeadline(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        if let heldPoll { heldPoll.connection.run { $0.pollLost(heldPoll.reply) } }
        heldPoll = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard context.channel.isActive, let refusal = Self.refusal(of: error) else {
            return context.close(promise: nil)
        }
        switch phase {
        case .idle: refuse(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"), refusal, context)
        case .collecting(let head, _, _): refuse(head, refusal, context)
        // Too much comes behind a request for another protocol. What is malformed is told after the answer under way.
        case .responding: if error is ByteToMessageDecoderError.PayloadTooLargeError { context.close(promise: nil) }
        // RFC 9112 §9.6: the answer that says that it is the last is the last.
        case .discarding: break
        case .upgraded: context.close(promise: nil)
        }
    }

    /// The answer to what cannot be parsed; nil for what is no fault of a request's.
    private static func refusal(of error: any Error) -> SocketIOHTTPResponse? {
        switch error {
        // RFC 6585 §5.
        case HTTPParserError.headerOverflow, is ByteToMessageDecoderError.PayloadTooLargeError:
            return .text("The head of the request is too large.\n", status: 431)
        case is HTTPParserError, is ByteToMessageDecoderError:
            return .text("This is no request of HTTP/1.1.\n", status: 400)
        default:
            return nil
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { return inputClosed(context) }
        guard event is ServerShutdownEvent else { return context.fireUserInboundEventTriggered(event) }
        isGoingDown = true
        switch phase {
        case .idle, .collecting, .discarding: context.close(promise: nil)
        case .responding, .upgraded: break
        }
    }

    /// RFC 9293 §3.6: who has said all may wait for the answer. Nothing else keeps such a connection.
    private func inputClosed(_ context: ChannelHandlerContext) {
        isInputClosed = true
        switch phase {
        case .idle:
            let channel = context.channel
            guard let lastAnswer else { return context.close(promise: nil) }
            lastAnswer.whenComplete { _ in channel.close(promise: nil) }
        case .collecting: context.close(promise: nil)
        case .discarding: if lingersUntil != nil { context.close(promise: nil) }
        case .responding(let asksForUpgrade):
            // Whoever polls, or begins a WebSocket, is to say more: this one has gone.
            if asksForUpgrade || heldPoll != nil { return context.close(promise: nil) }
            // Nor can it be told from one that still listens.
            restartDeadline(context)
        case .upgraded: context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
    }

    private func restartDeadline(_ context: ChannelHandlerContext) {
        deadline?.cancel()
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: TimeAmount(server.configuration.requestTimeout)) {
            channel.close(promise: nil)
        }
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), phase) {
        case (.head(let head), .idle): begin(head.withTrimmedFields(), context)
        case (.body(let buffer), .collecting(let head, var body, let limit)):
            guard body.count + buffer.readableBytes <= limit else { return refuseSize(head, context) }
            phase = .discarding
            body += buffer.readableBytesView
            phase = .collecting(head, body: body, limit: limit)
        case (.end, .collecting(let head, let body, _)):
            deadline?.cancel()
            phase = .responding(asksForUpgrade: head.asksForWebSocket)
            HTTPRouter(handler: self, context: context).route(head, body)
        case (.head, _), (.body, _), (.end, _): break
        }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        // RFC 9112 §3.2: exactly one Host since HTTP/1.1.
        let hosts = head.headers["host"].count
        guard hosts == 1 || (hosts == 0 && head.version == .http1_0) else {
            return refuse(head, .text("A request needs one Host header.\n", status: 400), context)
        }
        let head = head.inOriginForm()
        let limit = bodyLimit(of: head, context)
        if let length = head.headers.first(name: "content-length").flatMap(Int.init), length > limit {
            return refuseSize(head, context)
        }
        phase = .collecting(head, body: [], limit: limit)
        if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
            let head = HTTPResponseHead(version: head.version, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        }
    }

    private func bodyLimit(of head: HTTPRequestHead, _ context: ChannelHandlerContext) -> Int {
        let configuration = server.configuration
        if server.isEnginePath(head.uri) { return configuration.maxPayload }
        return configuration.fallbackBodyLimitOf?(SocketIOHTTPRequest(head, [], context))
            ?? configuration.fallbackBodyLimit
    }

    /// RFC 9110 §15.5.14.
    private func refuseSize(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let request = SocketIOHTTPRequest(head, [], context)
        let own = server.isEnginePath(head.uri) ? nil : server.configuration.bodyTooLarge?(request)
        var response = own ?? .text("The request's body is too large.\n")
        response.status = 413
        refuse(head, response, context)
    }

    /// What follows on this connection is read and dropped, and not parsed.
    private func refuse(
        _ head: HTTPRequestHead, _ response: SocketIOHTTPResponse, _ context: ChannelHandlerContext
    ) {
        phase = .discarding
        isRefused = true
        let pipeline = context.pipeline.syncOperations
        // It would keep further requests, and in the end stop reading.
        pipeline.removeHandler(httpHandlers.pipelining, promise: nil)
        let drain = HTTPDrain { [self] count in discard(count, context) }
        let place = ChannelPipeline.SynchronousOperations.Position.before(httpHandlers.decoder)
        do {
            try pipeline.addHandler(drain, position: place)
        } catch {
            return context.close(promise: nil)
        }
        respond(to: head, response, keepAlive: false, context)
    }

    private func discard(_ count: Int, _ context: ChannelHandlerContext) {
        discarded += count
        guard discarded <= Self.discardLimit else { return context.close(promise: nil) }
        if lingersUntil != nil { waitForSilence(context) }
    }

    /// RFC 9112 §9.6: a connection that is closed while something of the client's has not been read is reset, and the
    /// client, which is still sending, may never see the answer. So one direction is closed, and the other when the
    /// client has closed it, or after a while.
    private func linger(_ context: ChannelHandlerContext) {
        guard context.channel.isActive, !isInputClosed, !isGoingDown else { return context.close(promise: nil) }
        // RFC 5246 §7.2.1: TLS ends in both directions at once.
        if server.configuration.tls == nil { context.close(mode: .output, promise: nil) }
        lingersUntil = NIODeadline.now() + Self.lingerLimit
        waitForSilence(context)
    }

    private func waitForSilence(_ context: ChannelHandlerContext) {
        guard let lingersUntil else { return }
        deadline?.cancel()
        let channel = context.channel
        let end = min(NIODeadline.now() + Self.silenceLimit, lingersUntil)
        deadline = context.eventLoop.scheduleTask(deadline: end) { channel.close(promise: nil) }
    }

    // MARK: Responses

    /// Answers the current request. `keepAlive` false closes afterwards.
    func respond(
        to request: HTTPRequestHead, _ response: SocketIOHTTPResponse, keepAlive: Bool = true,
        _ context: ChannelHandlerContext
    ) {
        // The client went away while the answer was made.
        guard context.channel.isActive else { return }
        let bytes: [UInt8]
        switch response.body {
        case .bytes(let body): bytes = body
        case .file(let path): return respond(to: request, response, file: path, context)
        case .chunks(let chunks, let length):
            writeHead(request, response, length: length, keepAlive: keepAlive, context)
            guard Self.hasContent(response, to: request) else {
                return finishResponse(request, keepAlive: keepAlive, context)
            }
            return write(chunks, length, to: request, keepAlive: keepAlive, context)
        }
        writeHead(request, response, length: bytes.count, keepAlive: keepAlive, context)
        if Self.hasContent(response, to: request), !bytes.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
        }
        finishResponse(request, keepAlive: keepAlive, context)
    }

    /// RFC 9110 §6.4.1: nothing follows the answer to a HEAD, or a 204 or 304; the next answer would begin in it.
    private static func hasContent(_ response: SocketIOHTTPResponse, to request: HTTPRequestHead) -> Bool {
        request.method != .HEAD && HTTPResponseStatus(statusCode: response.status).mayHaveResponseBody
    }

    private func writeHead(
        _ request: HTTPRequestHead, _ response: SocketIOHTTPResponse, length: Int, keepAlive: Bool,
        _ context: ChannelHandlerContext
    ) {
        var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
        // The encoder takes it out of a 204 and a 304 (RFC 9110 §8.6).
        headers.replaceOrAdd(name: "Content-Length", value: String(length))
        if !staysOpen(after: request, keepAlive) {
            headers.replaceOrAdd(name: "Connection", value: "close")
        }
        let head = HTTPResponseHead(
            version: request.version, status: HTTPResponseStatus(statusCode: response.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    /// After a request for an upgrade nothing more is parsed as HTTP: who was refused it makes a new connection.
    private func staysOpen(after request: HTTPRequestHead, _ keepAlive: Bool) -> Bool {
        keepAlive && request.isKeepAlive && !isGoingDown && !isInputClosed && !request.headers.contains(name: "upgrade")
    }

    private func finishResponse(_ request: HTTPRequestHead, keepAlive: Bool, _ context: ChannelHandlerContext) {
        heldPoll = nil
        let staysOpen = staysOpen(after: request, keepAlive)
        let channel = context.channel
        let answer = context.eventLoop.makePromise(of: Void.self)
        lastAnswer = answer.futureResult
        if isRefused {
            let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            answer.futureResult.whenComplete { _ in
                let (handler, context) = loopBound.value
                handler.linger(context)
            }
        } else if !staysOpen {
            answer.futureResult.whenComplete { _ in channel.close(promise: nil) }
        }
        phase = staysOpen ? .idle : .discarding
        // For the next request, or for a client that does not read this answer.
        restartDeadline(context)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: answer)
    }

    private func respond(
        to request: HTTPRequestHead, _ response: SocketIOHTTPResponse, file path: String,
        _ context: ChannelHandlerContext
    ) {
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let hasContent = Self.hasContent(response, to: request)
        FileReader.open(path, on: context.eventLoop).whenComplete { result in
            let (handler, context) = loopBound.value
            guard case .success(let file) = result else {
                return handler.respond(to: request, .text("Not found\n", status: 404), context)
            }
            handler.writeHead(request, response, length: file.size, keepAlive: true, context)
            guard hasContent else { return handler.finishResponse(request, keepAlive: true, context) }
            let loopBound = loopBound
            file.forEachChunk(on: context.eventLoop) { chunk in
                let (handler, context) = loopBound.value
                guard context.channel.isActive else { return context.eventLoop.makeFailedFuture(ChannelError.eof) }
                handler.restartDeadline(context)
                // The next chunk is read when this one has left: a file never sits in memory.
                return context.writeAndFlush(handler.wrapOutboundOut(.body(.byteBuffer(chunk))))
            }.whenComplete { result in
                let (handler, context) = loopBound.value
                // A short file cannot be told to the client other than by a broken connection.
                guard case .success = result else { return context.close(promise: nil) }
                handler.finishResponse(request, keepAlive: true, context)
            }
        }
    }

    private func write(
        _ chunks: any AsyncSequence<[UInt8], any Error> & Sendable, _ length: Int, to request: HTTPRequestHead,
        keepAlive: Bool, _ context: ChannelHandlerContext
    ) {
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        Task {
            do {
                var left = length
                for try await chunk in chunks {
                    guard chunk.count <= left else { throw ChannelError.eof }
                    left -= chunk.count
                    try await loop.flatSubmit { () -> EventLoopFuture<Void> in
                        let (handler, context) = loopBound.value
                        guard context.channel.isActive else { return loop.makeFailedFuture(ChannelError.eof) }
                        handler.restartDeadline(context)
                        let part = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: chunk)))
                        return context.writeAndFlush(handler.wrapOutboundOut(part))
                    }.get()
                }
                guard left == 0 else { throw ChannelError.eof }
                loop.execute {
                    let (handler, context) = loopBound.value
                    handler.finishResponse(request, keepAlive: keepAlive, context)
                }
            } catch {
                loop.execute { loopBound.value.1.close(promise: nil) }
            }
        }
    }

    // MARK: Engine.IO

    /// Remembers the poll that this connection carries, so that its loss is told.
    func hold(_ reply: PollReply, of connection: ServerConnection) { heldPoll = (connection, reply) }

    /// Answers with the headers of RFC 6455 §4.2.2 and becomes a WebSocket, whose bytes `receiver` takes. `opened` is
    /// called before it has any.
    func upgrade(
        _ request: HTTPRequestHead, accept: HTTPHeaders, to receiver: some ChannelInboundHandler,
        _ context: ChannelHandlerContext, opened: () -> Void = {}
    ) throws {
        phase = .upgraded
        let head = HTTPResponseHead(version: request.version, status: .switchingProtocols, headers: accept)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        let pipeline = context.pipeline.syncOperations
        try pipeline.addHandler(receiver)
        pipeline.removeHandler(httpHandlers.pipelining, promise: nil)
        pipeline.removeHandler(httpHandlers.encoder, promise: nil)
        pipeline.removeHandler(context: context, promise: nil)
        opened()
        // Last: what the client sent right after its request goes on to the WebSocket.
        pipeline.removeHandler(httpHandlers.decoder, promise: nil)
    }
}
