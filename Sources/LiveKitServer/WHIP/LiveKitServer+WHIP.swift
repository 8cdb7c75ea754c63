internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import SocketIO

/// WHIP (RFC 9725) and WHEP: a `POST` with an offer makes a participant, whose session has a URL of its own.
extension LiveKitServer {
    /// Nil for what is of others.
    func answerExchange(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse? {
        guard let route = ExchangeRoute(path: request.path) else { return nil }
        if let answer = route.answer(to: request) { return answer }
        do throws(HTTPRefusal) {
            switch route {
            case .endpoint(let kind, let room, let form):
                return try await open(kind, room: room, request, form)
            case .session(let kind, let id, _):
                let session = try session(kind, id, for: request)
                return request.method == "DELETE" ? try await end(session) : try await patch(session, request)
            case .unreadable: throw .unreadableRoom
            }
        } catch {
            return error.response(on: route)
        }
    }

    // MARK: Beginning

    private func open(
        _ kind: HTTPSession.Kind, room: String, _ request: SocketIOHTTPRequest, _ form: ExchangeRoute.Form
    ) async throws(HTTPRefusal) -> SocketIOHTTPResponse {
        let parameters = try ExchangeParameters(
            request, kind, form, room: room, keys: configuration.keys, limits: configuration.rooms.limits, at: Date())
        try gate.admit(parameters.token.identity, to: parameters.room)
        guard sessions.reserve() else {
            throw HTTPRefusal(503, "The server is full: it has \(configuration.maximumHTTPSessions) sessions.")
        }
        defer { sessions.release() }
        let described = configuration.room(parameters.room, of: parameters.token)
        let mayCreate = mayCreate(with: parameters.token)
        let session: HTTPSession
        let answer: String
        let isNew: Bool
        do throws(WorkerRefusal) {
            let arrival = try parameters.arrival.withOffer()
            (session, answer, isNew) = try await atRoom(parameters.room) { worker throws(WorkerRefusal) in
                let session = HTTPSession(kind, token: parameters.token, worker: worker, in: sessions)
                let (answer, isNew) = try await worker.open(
                    arrival, room: described, mayCreate: mayCreate, link: session)
                return (session, answer, isNew)
            }
        } catch {
            throw HTTPRefusal(exchange: error)
        }
        if isNew { await recordAutomatically(room: parameters.room, as: parameters.token.claims.roomConfig) }
        return SocketIOHTTPResponse(
            status: 201,
            headers: HTTPRefusal.crossOrigin + [
                ("Content-Type", ExchangeRoute.sdp), ("Location", session.path(form)),
                ("ETag", session.tag.header), ("Accept-Patch", ExchangeRoute.fragment), ExchangeRoute.exposed,
            ] + configuration.iceServers(request).flatMap(Self.links), body: .bytes(Array(answer.utf8)))
    }

    /// RFC 9725 §4.6: one link for each URL of a server.
    private static func links(_ server: LiveKitICEServer) -> [(name: String, value: String)] {
        server.urls.map { url in
            var link = "<\(url)>; rel=\"ice-server\""
            if !server.username.isEmpty {
                link += "; username=\(quoted(server.username)); credential=\(quoted(server.credential))"
                link += "; credential-type=\"password\""
            }
            return ("Link", link)
        }
    }

    /// RFC 9110 §5.6.4.
    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    // MARK: Sessions

    /// The session, if the request may do anything with it. Its token may have expired since: one that was good when
    /// the session began is good until it ends, and so is any that is good now and names the same one.
    private func session(
        _ kind: HTTPSession.Kind, _ id: String, for request: SocketIOHTTPRequest
    ) throws(HTTPRefusal) -> HTTPSession {
        guard let session = sessions[kind, id] else { throw HTTPRefusal(404, "There is no such session.") }
        let began = session.began
        let token: AccessToken
        do throws(HTTPRefusal) {
            token = try request.accessToken(keys: configuration.keys, at: Date())
        } catch {
            token = try request.accessToken(keys: configuration.keys, at: began)
        }
        let room = token.claims.video?.room ?? ""
        guard token.identity == session.token.identity, room == session.token.claims.video?.room ?? "" else {
            throw HTTPRefusal(403, "The session is somebody else's.")
        }
        return session
    }

    /// RFC 9725 §4.3: candidates under the tag of the paths that they are for, or a new credential whatever the tag.
    private func patch(
        _ session: HTTPSession, _ request: SocketIOHTTPRequest
    ) async throws(HTTPRefusal) -> SocketIOHTTPResponse {
        guard request.mediaType == ExchangeRoute.fragment else {
            throw HTTPRefusal(415, "The body is to be of the type \(ExchangeRoute.fragment).")
        }
        guard let header = request.header("If-Match") else {
            throw HTTPRefusal(428, "The request is to say what paths it is about (If-Match).")
        }
        guard let condition = IfMatch(header) else { throw HTTPRefusal(400, "If-Match is malformed.") }
        guard let text = String(validating: request.body, as: UTF8.self) else {
            throw HTTPRefusal(400, "The body is no SDP fragment.")
        }
        let fragment: TrickleFragment
        do throws(TrickleFragment.Malformation) {
            fragment = try TrickleFragment(parsing: text)
        } catch {
            throw HTTPRefusal(400, "The body is no SDP fragment: \(error)")
        }
        let outcome = await session.worker.take(fragment, of: session, if: condition)
        switch outcome {
        case .success(.candidates):
            return SocketIOHTTPResponse(status: 204, headers: HTTPRefusal.crossOrigin)
        case .success(.restart(let body, let tag)):
            return SocketIOHTTPResponse(
                status: 200,
                headers: HTTPRefusal.crossOrigin + [
                    ("Content-Type", ExchangeRoute.fragment), ("ETag", tag.header), ExchangeRoute.exposed,
                ], body: .bytes(Array(body.utf8)))
        case .failure(let refusal): throw refusal
        }
    }

    private func end(_ session: HTTPSession) async throws(HTTPRefusal) -> SocketIOHTTPResponse {
        guard let address = session.address else { throw HTTPRefusal(404, "There is no such session.") }
        await session.worker.close(address)
        var response = SocketIOHTTPResponse.text("")
        response.headers += HTTPRefusal.crossOrigin
        return response
    }
}

extension HTTPRefusal {
    /// What is refused a client that could do better with another token, or another offer, is told apart.
    fileprivate init(exchange refusal: WorkerRefusal) {
        switch refusal {
        case .join(let reason):
            switch reason {
            case .notAllowed, .mayNotPublish, .mayNotSubscribe: self.init(403, reason.description)
            case .unsuitableOffer: self.init(422, reason.description)
            case .noIdentity, .nameTooLong, .metadataTooLong, .attributesTooLong, .roomFull, .tooManyBeside, .roomEnded,
                .roomDraining, .badOffer:
                self.init(refusal)
            }
        case .noSuchRoom, .tooManyRooms, .tooManyConnections, .elsewhere, .draining, .goingDown: self.init(refusal)
        }
    }

    func response(on route: ExchangeRoute) -> SocketIOHTTPResponse {
        var response = response
        response.headers.append(ExchangeRoute.exposed)
        switch status {
        case 401: response.headers.append(("WWW-Authenticate", "Bearer"))
        case 415: response.headers.append(route.accepts)
        // RFC 9725 §4.5: when to try again.
        case 503 where retryAfter == nil: response.headers.append(("Retry-After", "5"))
        default: break
        }
        return response
    }
}
