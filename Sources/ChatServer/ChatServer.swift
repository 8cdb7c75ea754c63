internal import ChatCore
internal import ChatModel
internal import Foundation
package import LiveKitProtocol
package import Logging
package import SocketIO

/// A server's chat: `/api/v1`.
package final class ChatServer: Sendable {
    /// Where all of it is.
    package static let path = "/api/v1"
    /// Of the realtime socket.
    package static let socketPath = path + "/ws"
    /// The largest body of a request, in bytes.
    static let bodyLimit = 256 * 1_024

    let api: ChatAPI
    private let table: RouteTable
    private let hub: RealtimeHub
    private let calls: CallCenter
    private let publicURL: PublicURL
    /// Nil where nothing is pushed.
    private let push: PushCenter?
    /// Nil on a server that is alone.
    private let link: NodeLink?
    private let storage: StorageWatch
    private let chores: Chores
    private let callWatch: CallWatch?
    /// Tells others what has changed, in its order, until `endOfChanges`.
    private let distribution: Task<Void, Never>
    private let endOfChanges: @Sendable () -> Void
    /// Tells who has gone from all their devices, until `endOfDepartures`.
    private let departures: Task<Void, Never>
    private let endOfDepartures: @Sendable () -> Void
    private let probe: DatabaseProbe
    private let unnamed = UnnamedSockets()
    private let logger: Logger

    /// - Parameters:
    ///   - service: over a database whose tables are there.
    ///   - mailer: brings letters to people.
    ///   - rooms: for calls; nil where there are none.
    package init(
        _ configuration: ChatServerConfiguration, service: ChatService, mailer: any Mailer,
        rooms: (any CallRooms)? = nil, logger: Logger
    ) async throws {
        var service = service
        let (changes, changed) = AsyncStream<ChatChanges>.makeStream()
        service.changed = { changed.yield($0) }
        let (gone, going) = AsyncStream<UserID>.makeStream()
        publicURL = PublicURL(configuration.serverURL)
        let secret = Secret.random().text
        // The same on all servers of a database, and from the first start on.
        let kept = try await service.write { try $0.setting("token_secret", ifMissing: secret) }
        let chat = NodeLink.chatName(of: kept)
        let link = configuration.nodes.map { NodeLink($0.redis, chat: chat, logger: logger) }
        self.link = link
        let node = link?.id ?? NodeID(UUID())
        let hub = RealtimeHub(service: service, logger: logger, node: node, tell: link.map { $0.tell }) {
            going.yield($0)
        }
        self.hub = hub
        let key = try APIKey("roost-chat", secret: kept)
        let push = try configuration.push.map { [service] push in
            try PushCenter(push, service: service, logger: logger) { await hub.connected(among: $0) }
        }
        self.push = push
        let calls = CallCenter(
            service: service, rooms: rooms, push: push, isOneOfSeveral: link != nil, logger: logger)
        self.calls = calls
        endOfDepartures = { going.finish() }
        departures = Task {
            for await user in gone {
                await calls.gone(user)
                await push?.gone(user)
            }
        }
        await push?.start()
        let storage = StorageWatch(service: service, logger: logger)
        self.storage = storage
        try await storage.begin()
        let files = try await ChatFiles.make(configuration, service: service, logger: logger)
        let chores = Chores(service: service, files: files, storage: storage, logger: logger)
        self.chores = chores
        endOfChanges = { changed.finish() }
        distribution = Task {
            for await change in changes {
                if link != nil, !change.forOthers.isEmpty { await hub.say(.changed(change.forOthers)) }
                chores.changed(change)
                await hub.changed(change)
                await push?.changed(change)
                await calls.changed(change.calls)
            }
        }
        // Rooms of our own end with this process, and tell it everything; what a database that is away cannot take
        // waits for it.
        callWatch = rooms.flatMap { $0.isOwn ? nil : CallWatch(service: service, rooms: $0, logger: logger) }
        probe = DatabaseProbe(service)
        api = ChatAPI(
            service: service,
            tokens: AccessTokens(
                key: key, lifetime: configuration.lifetimes.accessToken),
            passwords: PasswordHasher(cost: .init(logN: configuration.passwordCost)),
            limits: RequestLimits(
                shared: configuration.nodes.map { SharedLimits($0.redis, chat: chat, salt: kept) }),
            mailer: mailer,
            letters: Letters(server: publicURL), callRooms: rooms, configuration: configuration, logger: logger,
            push: push, files: files, node: configuration.nodes.map { CallNode(id: node, url: $0.url) },
            connected: { await hub.connected(among: $0) })
        table = RouteTable(api.routes)
        self.logger = logger
        try await calls.open()
    }

    /// From now on it is one that serves: calls of an earlier process end, and others are told that there is one more.
    /// To be called once it is certain that it can be reached; requests are answered before.
    package func start() async throws {
        try await calls.start()
        await link?.start(hub, calls, push)
        await callWatch?.start()
    }

    /// People reach the server by this URL, from now on: where its port was not known before it listened.
    package func isReached(by url: String) { publicURL.set(url) }

    /// How large a request's body may be; nil for paths that are not the chat's.
    package func bodyLimit(of request: SocketIOHTTPRequest) -> Int? {
        guard Self.isChat(request.path) else { return nil }
        guard let files = api.files, request.method == "PATCH", request.path.hasPrefix(Self.path + "/uploads/"),
            (try? token(of: request)).flatMap({ try? api.tokens.caller(of: $0, at: api.service.now()) }) != nil
        else { return Self.bodyLimit }
        // Only for who is logged in so much is read before anything else is looked at.
        return files.store.partSize
    }

    /// What a request under `/api/v1` is answered with whose body is too large; nil for other paths.
    package func tooLarge(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse? {
        guard Self.isChat(request.path) else { return nil }
        return APIResponse(
            ChatError(.tooLarge, code: "payload_too_large", "The request's body is too large.")
        ).http
    }

    private static func isChat(_ path: String) -> Bool { path == self.path || path.hasPrefix(self.path + "/") }

    /// Answers what is under `/api/v1`; nil for other paths.
    package func answer(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse? {
        guard Self.isChat(request.path) else { return nil }
        let began = ContinuousClock.now
        let route = table.match(request.method, request.path.dropFirst(Self.path.count))
        let response = await answer(request, to: route)
        let counters = if case .found(let route, _) = route { route.counters } else { statistics.unknownRequests }
        counters.record(status: response.status, ContinuousClock.now - began)
        return response
    }

    private func answer(_ request: SocketIOHTTPRequest, to route: RouteTable.Match) async -> SocketIOHTTPResponse {
        do {
            return try await perform(request, route).http
        } catch let error as ChatError {
            statistics.countRefusal(error, ofFrame: false)
            return APIResponse(error).http
        } catch {
            // Neither the path, which has identifiers, nor anything of the body.
            logger.error("a request failed", metadata: ["method": "\(request.method)", "error": "\(error)"])
            return APIResponse(ChatError(telling: error)).http
        }
    }

    /// Takes a WebSocket on `/api/v1/ws`; nil for other paths.
    package func webSocket(_ request: SocketIOHTTPRequest) async -> WebSocketAnswer? {
        guard request.path == Self.socketPath else { return nil }
        do {
            try checkOrigin(of: request)
            let (visitor, place) = try await visitor(of: request)
            let (api, hub, site) = (api, hub, request.site)
            let connection = RealtimeConnection(
                visitor, place: place, counters: statistics.realtime
            ) { connection, step in
                await api.take(step, connection, from: site, over: hub)
            }
            return .accepted(by: connection, RealtimeConnection.terms)
        } catch let error as ChatError {
            statistics.countRefusal(error, ofFrame: false)
            return .refused(APIResponse(error).http)
        } catch {
            logger.error("a realtime socket was refused", metadata: ["error": "\(error)"])
            return .refused(APIResponse(ChatError(telling: error)).http)
        }
    }

    /// Whoever names nobody in the address counts as a stranger only once the first frame names nobody either: behind
    /// one address there may be a whole office.
    private func visitor(
        of request: SocketIOHTTPRequest
    ) async throws -> (RealtimeConnection.Visitor, UnnamedSockets.Place?) {
        guard let token = request.query["token"] else {
            guard let place = unnamed.enter(request.site) else {
                throw ChatError.tooOften(retryAfter: ChatAPI.patience)
            }
            return (.stranger, place)
        }
        let caller = try await api.caller(with: token, at: api.service.now())
        return (.expected(caller, resume: Self.places(request.query["resume"] ?? "")), nil)
    }

    /// `ID:NUMBER,ID:NUMBER`: what a client has seen of each workspace.
    private static func places(_ text: String) -> [WorkspaceID: Int64] {
        text.split(separator: ",").reduce(into: [:]) { places, item in
            let pair = item.split(separator: ":")
            guard pair.count == 2, let id = WorkspaceID(String(pair[0])), let sequence = Int64(pair[1]) else { return }
            places[id] = sequence
        }
    }

    /// RFC 6455 §10.2: browsers name the page that opens the socket; others name none.
    private func checkOrigin(of request: SocketIOHTTPRequest) throws(ChatError) {
        guard let origin = request.header("Origin") else { return }
        let host = request.header("Host") ?? ""
        let own = ["http://\(host)", "https://\(host)", publicURL.text]
        guard
            own.contains(origin) || api.configuration.origins.contains(origin)
                || api.configuration.origins.contains("*")
        else { throw .forbidden("other_origin", "Pages of this origin may not open it.") }
    }

    /// Says goodbye to who is connected. What is asked for is answered until `stop`.
    package func goDown() async {
        await callWatch?.stop()
        chores.stop()
        await push?.goDown()
        await calls.goDown()
        await hub.close()
    }

    /// Does what was put off until after the answers.
    package func finish() async { await api.later.finish() }

    /// To be called when nobody asks any more, and nothing happens in the rooms: what has changed is told to whom it is
    /// to be told, and that is all.
    package func stop() async {
        await goDown()
        await finish()
        // The calls that they were in end by what is told here.
        endOfDepartures()
        await departures.value
        await calls.stop()
        endOfChanges()
        await distribution.value
        await calls.finish()
        await push?.stop()
        await link?.stop(hub)
        await storage.end()
    }

    /// Whether a room of LiveKit's protocol is one of a call, into which nobody comes but with the chat's tokens.
    package static func isCallRoom(_ name: String) -> Bool { CallRoomName.isOne(name) }

    /// Takes what the server of the rooms tells, in its order.
    package func take(_ event: LiveKitWebhookEvent) async { await calls.take(event) }

    /// What pushing has come to; nil where nothing is pushed.
    package var pushStatistics: PushStatistics? { push?.statistics }

    private var statistics: ChatStatistics { api.service.statistics }

    /// What the chat counts, in Prometheus' text format.
    package func metrics() async -> String {
        statistics.text(
            routes: table.routes, waiting: api.service.database.waitingTransactions,
            runningCalls: await probe.runningCalls(within: .seconds(5)), letters: api.mailer.counters)
    }

    /// Whether the database answers within a second.
    package func isDatabaseThere() async -> Bool { await probe.runningCalls(within: .seconds(1)) != nil }

    private func perform(_ request: SocketIOHTTPRequest, _ route: RouteTable.Match) async throws -> APIResponse {
        let now = api.service.now()
        switch route {
        case .nothing: throw ChatError.notFound("route")
        case .otherMethod(let methods):
            var response = APIResponse(
                ChatError(.invalid, code: "wrong_method", "This address takes \(methods.joined(separator: ", "))."))
            response.status = 405
            response.headers.append(("Allow", methods.joined(separator: ", ")))
            return response
        case .found(let route, let parameters):
            var call = APIRequest(http: request, parameters: parameters, caller: nil)
            switch route.access {
            case .anybody: try await api.limits.take(.strangers(request.site), at: now)
            case .link: break
            case .user:
                let caller = try await self.caller(of: request, at: now)
                try await api.limits.take(.requests(caller.user), at: now)
                call.caller = caller
            }
            return try await route.answer(call)
        }
    }

    /// Who asks, by the token in the request.
    private func caller(of request: SocketIOHTTPRequest, at now: Timestamp) async throws -> Caller {
        try await api.caller(with: try token(of: request), at: now)
    }

    private func token(of request: SocketIOHTTPRequest) throws(ChatError) -> String {
        // RFC 6750 §2.1; the scheme in any case (RFC 9110 §11.1), and one space or more behind it (§11.4).
        guard let header = request.header("Authorization") else { throw .notLoggedIn }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw .notLoggedIn }
        return String(parts[1].drop { $0 == " " })
    }
}

extension ChatAPI {
    /// Who a token is of, if their session lasts.
    func caller(with token: String, at now: Timestamp) async throws -> Caller {
        let caller = try tokens.caller(of: token, at: now)
        let (user, isConfirmed) = try await service.read { chat in
            (
                try chat.user(of: caller.session),
                try chat.isConfirmed(caller.session, byTokenOf: caller.tokenMade)
            )
        }
        guard user == caller.user else { throw ChatError.sessionOver }
        if !isConfirmed { try await service.write { _ = try $0.confirm(caller.session) } }
        return caller
    }
}
