internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
package import SocketIO

/// The paths that clients know.
extension LiveKitServer {
    private static let joining: Set<String> = ["/rtc", "/rtc/v1"]
    /// Where there is nothing without an upgrade.
    package static let webSocketPaths = joining.union([agentPath])
    private static let validating: Set<String> = ["/rtc/validate", "/rtc/v1/validate"]

    /// Takes a WebSocket on `/rtc` or `/rtc/v1`, after the room has accepted, and one of a worker of agents on
    /// `/agent`; nil for other paths.
    package func webSocket(_ request: SocketIOHTTPRequest) async -> WebSocketAnswer? {
        let request = request.withOneSlash
        guard Self.webSocketPaths.contains(request.path) else { return nil }
        do throws(HTTPRefusal) {
            if request.path == Self.agentPath { return .accepted(by: try takeWorker(request), AgentConnection.terms) }
            return .accepted(by: try await join(request), SignalConnection.terms)
        } catch {
            return .refused(error.response)
        }
    }

    /// Answers what is not the upgrade: `validate`, WHIP, WHEP and the room service; nil for other paths.
    package func answer(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse? {
        let request = request.withOneSlash
        if Self.validating.contains(request.path) { return await validate(request) }
        // As LiveKit's server has it: without an upgrade there is nothing here.
        if Self.webSocketPaths.contains(request.path) { return HTTPRefusal(404, "Not found").response }
        if let answer = await answerExchange(request) { return answer }
        return await answerTwirp(request)
    }

    /// What a request is answered with, with the status 413, whose body is larger than may be: in the form of its path,
    /// and so that pages of other origins can read it. Nil for other paths.
    package static func tooLarge(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse? {
        let path = request.withOneSlash.path
        if path.hasPrefix("/twirp/") { return TwirpError(.malformed, "the request's body is too large").response }
        guard let route = ExchangeRoute(path: path) else { return nil }
        switch route {
        case .endpoint, .unreadable: return HTTPRefusal.offerTooLong.response(on: route)
        case .session: return HTTPRefusal(413, "The request's body is too large.").response(on: route)
        }
    }

    private func join(_ request: SocketIOHTTPRequest) async throws(HTTPRefusal) -> SignalConnection {
        let parameters = try parameters(of: request)
        var arrival = parameters.arrival
        arrival.iceServers = configuration.iceServers(request)
        if arrival.request.reconnect {
            try gate.readmit(parameters.token.identity, to: parameters.room)
            let worker = worker(forRoom: parameters.room)
            let connection = SignalConnection(inbox: worker.inbox, tokenExpires: parameters.token.expires)
            guard await worker.resume(arrival, room: parameters.room, link: connection) else {
                throw HTTPRefusal(500, "The client has asked for this attempt to fail.")
            }
            return connection
        }
        do throws(HTTPRefusal) {
            try gate.admit(parameters.token.identity, to: parameters.room)
        } catch {
            // A client that is told 4xx gives up for good.
            throw HTTPRefusal(503, error.text, retryAfter: error.retryAfter)
        }
        let room = configuration.room(parameters.room, of: parameters.token)
        let mayCreate = mayCreate(with: parameters.token)
        let connection: SignalConnection
        let isNew: Bool
        do throws(WorkerRefusal) {
            let arrival = try arrival.withOffer()
            (connection, isNew) = try await atRoom(parameters.room) { worker throws(WorkerRefusal) in
                let connection = SignalConnection(inbox: worker.inbox, tokenExpires: parameters.token.expires)
                let isNew = try await worker.join(arrival, room: room, mayCreate: mayCreate, link: connection)
                return (connection, isNew)
            }
        } catch {
            throw HTTPRefusal(error)
        }
        if isNew { await recordAutomatically(room: parameters.room, as: parameters.token.claims.roomConfig) }
        return connection
    }

    private func parameters(of request: SocketIOHTTPRequest) throws(HTTPRefusal) -> JoinParameters {
        try JoinParameters(request, keys: configuration.keys, limits: configuration.rooms.limits, at: Date())
    }

    func mayCreate(with token: AccessToken) -> Bool {
        configuration.createsRooms || token.claims.video?.roomCreate == true
    }

    /// What the upgrade would be refused for, for clients that cannot see its status.
    private func validate(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse {
        guard request.method == "GET" || request.method == "HEAD" else { return CrossOrigin.answer(request) }
        do throws(HTTPRefusal) {
            let parameters = try parameters(of: request)
            if worker(ofRoom: parameters.room) == nil {
                if !mayCreate(with: parameters.token) { throw .noSuchRoom }
                if isDraining { throw HTTPRefusal(WorkerRefusal.draining) }
            }
            var response = SocketIOHTTPResponse.text("success")
            response.headers += HTTPRefusal.crossOrigin
            return response
        } catch {
            return error.response
        }
    }
}

extension Arrival {
    /// Its offer is read on this thread, which has no media to pass on.
    func withOffer() throws(WorkerRefusal) -> Arrival {
        var arrival = self
        do throws(JoinRefusal) {
            try arrival.readOffer()
        } catch {
            throw .join(error)
        }
        return arrival
    }
}

/// What a page of another origin asks before it asks (Fetch standard, "CORS protocol").
enum CrossOrigin {
    /// Answers a preflight, and refuses other methods.
    static func answer(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse {
        guard request.method == "OPTIONS" else { return HTTPRefusal(405, "Not allowed").response }
        return SocketIOHTTPResponse(
            status: 204,
            headers: HTTPRefusal.crossOrigin + [
                ("Access-Control-Allow-Methods", "GET, HEAD, POST"),
                headersAllowed(request, unasked: "Authorization, Content-Type"), ("Access-Control-Max-Age", "86400"),
            ])
    }

    /// What a page asks for it may send: programs that watch over it add headers of their own. `*` would be all of them
    /// but `Authorization`.
    static func headersAllowed(_ request: SocketIOHTTPRequest, unasked: String) -> (name: String, value: String) {
        ("Access-Control-Allow-Headers", request.header("Access-Control-Request-Headers") ?? unasked)
    }
}

extension LiveKitServerConfiguration {
    /// How the room is to be that somebody brings into being by joining it.
    func room(_ name: String, of token: AccessToken) -> RoomConfiguration {
        let described = token.claims.roomConfig ?? LiveKitRoomConfiguration()
        var room = rooms.described(name, as: described)
        // Whoever joins is not sent away for an agent that cannot be.
        room.agents = room.agents?.filter { $0.isPossible(within: rooms.limits) }
        return room
    }
}

extension SocketIOHTTPRequest {
    /// Of two slashes at the beginning of the path one counts, as in LiveKit's server: there are clients and services
    /// that put a path behind a URL that ends in one.
    var withOneSlash: Self {
        guard path.hasPrefix("//") else { return self }
        var request = self
        request.path.removeFirst()
        return request
    }
}
