import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Decides what a complete request gets, on the loop of its connection.
struct HTTPRouter {
    let handler: HTTPServerHandler
    let context: ChannelHandlerContext
    private var server: SocketIOServer { handler.server }

    init(handler: HTTPServerHandler, context: ChannelHandlerContext) {
        self.handler = handler
        self.context = context
    }

    func route(_ head: HTTPRequestHead, _ body: [UInt8]) {
        let request = SocketIOHTTPRequest(head, body, context)
        if server.isEnginePath(head.uri) {
            return routeEngine(head, request.query, body)
        }
        if let webSockets = server.configuration.webSockets, head.asksForWebSocket {
            routeWebSocket(head, request, webSockets)
        } else {
            routeFallback(head, request)
        }
    }

    private func routeFallback(_ head: HTTPRequestHead, _ request: SocketIOHTTPRequest) {
        guard let fallback = server.configuration.fallback else {
            return handler.respond(to: head, .text("Not found\n", status: 404), context)
        }
        let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        Task {
            let response = await fallback(request)
            loop.execute { loopBound.value.handler.respond(to: head, response, loopBound.value.context) }
        }
    }

    private func routeEngine(_ head: HTTPRequestHead, _ query: EngineIOQuery, _ body: [UInt8]) {
        let cors: [(name: String, value: String)]
        let request: EngineIORequest
        do throws(EngineIORefusal) {
            cors = try CORS.headers(head.headers, server.configuration)
            request = try EngineIORequest(
                method: head.method.rawValue, query: query, wantsWebSocket: head.asksForWebSocket)
        } catch {
            return refuse(head, error, cors: (try? CORS.headers(head.headers, server.configuration)) ?? [])
        }
        switch request {
        case .preflight:
            handler.respond(
                to: head, SocketIOHTTPResponse(status: 204, headers: cors + CORS.preflight(head.headers)), context)
        case .openByPolling:
            guard server.configuration.allowsPolling else { return refuse(head, .unknownTransport, cors: cors) }
            openByPolling(head, query, cors)
        case .openByWebSocket:
            guard server.configuration.allowsWebSocket else { return refuse(head, .unknownTransport, cors: cors) }
            guard let connection = makeConnection(head, query, .webSocket, cors) else { return }
            becomeWebSocket(head, cors) { connection, link in
                connection.webSocketOpened(link, at: .now)
            } connection: {
                server.opened(connection) ? connection : nil
            }
        case .upgrade(let sid):
            guard server.configuration.allowsWebSocket else { return refuse(head, .unknownTransport, cors: cors) }
            guard let connection = server.session(sid) else { return refuse(head, .unknownSession, cors: cors) }
            becomeWebSocket(head, cors) { connection, link in
                connection.run { $0.probeOpened(link) }
            } connection: {
                connection
            }
        case .poll(let sid):
            guard let connection = server.session(sid) else { return refuse(head, .unknownSession, cors: cors) }
            poll(head, connection, cors)
        case .post(let sid):
            guard let connection = server.session(sid) else { return refuse(head, .unknownSession, cors: cors) }
            post(head, connection, body, cors)
        }
    }

    /// An Engine.IO error in the official server's form.
    private func refuse(_ head: HTTPRequestHead, _ refusal: EngineIORefusal, cors: [(name: String, value: String)]) {
        server.counters.requestsRefused.add(1)
        let headers = [("Content-Type", "application/json")] + cors.map { ($0.name, $0.value) }
        handler.respond(
            to: head,
            SocketIOHTTPResponse(status: refusal.status, headers: headers, body: .bytes(Array(refusal.json.utf8))),
            context)
    }

    // MARK: Sessions

    /// A new session; nil, and the request answered, if there is no room.
    private func makeConnection(
        _ head: HTTPRequestHead, _ query: EngineIOQuery, _ transport: EngineIOTransport,
        _ cors: [(name: String, value: String)]
    ) -> ServerConnection? {
        guard server.hasRoom, let loop = server.context(of: context.eventLoop) else {
            turnAway(head, "The server is full.\n", cors)
            return nil
        }
        let origin = SocketIOHandshake(
            namespace: "/", query: query, auth: nil, headers: head.headers.map { ($0.name, $0.value) },
            remoteAddress: context.remoteAddressText, transport: transport)
        return ServerConnection(server: server, context: loop, origin: origin, at: .now)
    }

    private func turnAway(_ head: HTTPRequestHead, _ text: String, _ cors: [(name: String, value: String)]) {
        server.counters.requestsRefused.add(1)
        var response = SocketIOHTTPResponse.text(text, status: 503)
        response.headers += cors
        handler.respond(to: head, response, context)
    }

    private func openByPolling(
        _ head: HTTPRequestHead, _ query: EngineIOQuery, _ cors: [(name: String, value: String)]
    ) {
        guard let connection = makeConnection(head, query, .polling, cors) else { return }
        guard server.opened(connection) else { return turnAway(head, "The server is going down.\n", cors) }
        let packet = connection.open(at: .now)
        handler.respond(to: head, Self.text(EngineIOPayload.encode([packet]), cors), context)
    }

    private func poll(
        _ head: HTTPRequestHead, _ connection: ServerConnection, _ cors: [(name: String, value: String)]
    ) {
        let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let reply = PollReply { body in
            let answer: @Sendable () -> Void = {
                let router = loopBound.value
                guard let body else { return router.refuse(head, .badRequest, cors: cors) }
                router.handler.respond(to: head, Self.text(body, cors), router.context)
            }
            if loop.inEventLoop { answer() } else { loop.execute(answer) }
        }
        handler.hold(reply, of: connection)
        connection.run { $0.pollArrived(reply) }
    }

    private func post(
        _ head: HTTPRequestHead, _ connection: ServerConnection, _ body: [UInt8],
        _ cors: [(name: String, value: String)]
    ) {
        let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let done: @Sendable (Bool) -> Void = { isTaken in
            let answer: @Sendable () -> Void = {
                let router = loopBound.value
                guard isTaken else { return router.refuse(head, .badRequest, cors: cors) }
                router.handler.respond(to: head, Self.text(Array("ok".utf8), cors), router.context)
            }
            if loop.inEventLoop { answer() } else { loop.execute(answer) }
        }
        connection.run { $0.postArrived(body, done: done) }
    }

    private static func text(_ body: [UInt8], _ cors: [(name: String, value: String)]) -> SocketIOHTTPResponse {
        SocketIOHTTPResponse(
            headers: [("Content-Type", "text/plain; charset=UTF-8"), ("Cache-Control", "no-store")] + cors,
            body: .bytes(body))
    }

    private func becomeWebSocket(
        _ head: HTTPRequestHead, _ cors: [(name: String, value: String)],
        opened: @escaping @Sendable (ServerConnection, WebSocketLink) -> Void,
        connection: @escaping () -> ServerConnection?
    ) {
        let loopBound = NIOLoopBound((self, connection), eventLoop: context.eventLoop)
        acceptHeaders(for: head).whenComplete { result in
            let (router, connection) = loopBound.value
            guard case .success(let accept) = result else { return router.refuse(head, .badRequest, cors: cors) }
            guard let session = connection() else { return router.turnAway(head, "The server is going down.\n", cors) }
            let link = WebSocketLink(channel: router.context.channel)
            let limit = router.server.configuration.maxPayload
            let receiver = WebSocketServerHandler(connection: session, link: link, limit: limit)
            // If this fails, the channel is closed already, which is what `opened` then finds.
            try? router.handler.upgrade(head, accept: accept, to: receiver, router.context)
            opened(session, link)
        }
    }

    /// NIO checks the handshake's key and version and computes the accept header.
    private func acceptHeaders(for head: HTTPRequestHead) -> EventLoopFuture<HTTPHeaders> {
        let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
            upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() })
        return upgrader.buildUpgradeResponse(
            channel: context.channel, upgradeRequest: head, initialResponseHeaders: [:])
    }

    // MARK: Other WebSockets

    /// Whoever takes it is asked when the handshake is right, and before it is answered: a refusal is an HTTP response.
    private func routeWebSocket(
        _ head: HTTPRequestHead, _ request: SocketIOHTTPRequest,
        _ webSockets: @escaping @Sendable (SocketIOHTTPRequest) async -> WebSocketAnswer?
    ) {
        let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        acceptHeaders(for: head).whenComplete { result in
            Task {
                let isValid = if case .success = result { true } else { false }
                let answer = isValid ? await webSockets(request) : nil
                loop.execute { loopBound.value.finish(head, request, isValid ? result : nil, answer) }
            }
        }
    }

    private func finish(
        _ head: HTTPRequestHead, _ request: SocketIOHTTPRequest, _ accept: Result<HTTPHeaders, any Error>?,
        _ answer: WebSocketAnswer?
    ) {
        guard case .success(let accept) = accept else {
            return handler.respond(to: head, .text("This is no WebSocket handshake.\n", status: 400), context)
        }
        switch answer {
        case nil: routeFallback(head, request)
        case .refused(let response): handler.respond(to: head, response, context)
        case .accepted(let peer, let terms):
            do {
                guard context.channel.isActive, let loop = server.context(of: context.eventLoop) else {
                    throw ChannelError.ioOnClosedChannel
                }
                let link = WebSocketLink(channel: context.channel)
                let receiver = WebSocketPeerHandler(peer: peer, link: link, on: loop, terms: terms)
                let socket = ServerWebSocket(link, on: loop, outboundLimit: terms.outboundLimit)
                try handler.upgrade(head, accept: accept, to: receiver, context) { peer.webSocketOpened(socket) }
            } catch {
                peer.webSocketClosed()
            }
        }
    }
}

extension SocketIOServer {
    /// Whether a request's target is under the Socket.IO path, with or without the last slash.
    func isEnginePath(_ uri: String) -> Bool {
        guard uri.hasPrefix(configuration.path) else {
            let bare = configuration.path.hasSuffix("/") ? configuration.path.dropLast() : configuration.path[...]
            return uri == bare || uri.hasPrefix(bare + "?")
        }
        return true
    }
}

extension HTTPRequestHead {
    var asksForWebSocket: Bool { headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" } }

    /// RFC 9110 §5.5: white space around a field's value is no part of it. NIO leaves what is behind it.
    func withTrimmedFields() -> HTTPRequestHead {
        guard headers.contains(where: { $0.value.utf8.last.map(\.isFieldSpace) == true }) else { return self }
        var head = self
        head.headers = HTTPHeaders(
            headers.map { field in
                let end = field.value.utf8.lastIndex { !$0.isFieldSpace }
                let value = end.map { Substring(field.value.utf8[...$0]) } ?? ""
                return (field.name, String(value))
            })
        return head
    }

    /// RFC 9112 §3.2.2: of a target in absolute form its path and query are left, and its authority is the `Host`.
    func inOriginForm() -> HTTPRequestHead {
        guard !uri.hasPrefix("/"), let end = uri.firstRange(of: "://")?.upperBound,
            ["http://", "https://"].contains(uri[..<end].lowercased())
        else { return self }
        let authority = uri[end...].prefix { $0 != "/" && $0 != "?" }
        guard let host = authority.split(separator: "@").last else { return self }
        var head = self
        let target = String(uri[authority.endIndex...])
        head.uri = target.hasPrefix("/") ? target : "/" + target
        head.headers.replaceOrAdd(name: "Host", value: String(host))
        return head
    }
}

extension UInt8 {
    /// Space or tab (RFC 9110 §5.6.3).
    fileprivate var isFieldSpace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

extension ChannelHandlerContext {
    /// As `127.0.0.1:5000`; empty when unknown.
    var remoteAddressText: String {
        guard let address = remoteAddress, let ip = address.ipAddress, let port = address.port else { return "" }
        return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }
}

extension SocketIOHTTPRequest {
    init(_ head: HTTPRequestHead, _ body: [UInt8], _ context: ChannelHandlerContext) {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(
            method: head.method.rawValue, path: parts.first.map(String.init) ?? "/",
            query: EngineIOQuery(parts.count > 1 ? parts[1] : ""),
            headers: head.headers.map { ($0.name, $0.value) }, body: body, remoteAddress: context.remoteAddressText,
            localPort: context.localAddress?.port ?? 0)
    }
}
