internal import Foundation
internal import LiveKitProtocol
package import SocketIO

/// The paths that clients and services know, as `LiveKitServer` has them: what it refuses without looking at a room is
/// refused here in its words, the rest is the cluster's to answer.
extension LiveKitCluster {
    /// Of a message of the cluster's. Who is in a large room is told in one.
    private static let messageLimit = 16 << 20

    /// Takes a WebSocket on `/rtc` or `/rtc/v1`, after the cluster has accepted; nil for other paths.
    package func webSocket(_ request: SocketIOHTTPRequest) async -> WebSocketAnswer? {
        guard case .signaling(let path) = ClusterRoute(request.withOneSlash.path) else { return nil }
        do throws(HTTPRefusal) {
            let token = try token(of: request, for: .signaling)
            let socket = try await connect(path, request, token)
            counters.sessionOpened()
            let relay = SessionRelay(to: socket) { [counters] in counters.sessionClosed() }
            var terms = SignalConnection.terms
            // What the cluster says is read as fast as the client takes it, so no more waits than a message or two.
            terms.outboundLimit = 2 * Self.messageLimit
            return .accepted(by: relay, terms)
        } catch {
            return .refused(error.response)
        }
    }

    /// Answers what is not the upgrade; nil for other paths.
    package func answer(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse? {
        guard let route = ClusterRoute(request.withOneSlash.path) else { return nil }
        switch route {
        case .signaling: return HTTPRefusal(404, "Not found").response
        case .event: return takeEvent(request)
        case .noMethod:
            if request.method == "OPTIONS" { return CrossOrigin.answer(request) }
            return TwirpError(.badRoute, "no handler for path \(request.path)").response
        case .validation(let path):
            guard request.method == "GET" || request.method == "HEAD" else { return CrossOrigin.answer(request) }
            do throws(HTTPRefusal) {
                return try await pass(request, to: path, as: .validation, token: token(of: request, for: .validation))
            } catch {
                return error.response
            }
        case .service(let path):
            if request.method == "OPTIONS" { return CrossOrigin.answer(request) }
            return await call(path, request)
        case .exchange(let route, let path):
            if let answer = route.answer(to: request) { return answer }
            return await exchange(route, path, request)
        }
    }

    /// How large a body may be, of a request of which the head has come: more than usual of those with a token that
    /// lets them ask a service for anything, and of the cluster's events.
    package func bodyLimit(of request: SocketIOHTTPRequest) -> Int? {
        let mayBeLarge =
            switch ClusterRoute(request.withOneSlash.path) {
            case .service: isOfService(request)
            case .event: isSigned(request)
            case .signaling, .noMethod, .validation, .exchange, nil: false
            }
        return mayBeLarge ? LiveKitServer.bodyLimit : nil
    }

    private func isOfService(_ request: SocketIOHTTPRequest) -> Bool {
        guard let claims = try? request.accessToken(keys: configuration.keys, at: Date()).claims else { return false }
        return claims.sip != nil || claims.video?.isForServices == true
    }

    /// Whether one of our keys has signed a body. Whether it is this one is seen when it has come.
    private func isSigned(_ request: SocketIOHTTPRequest) -> Bool {
        guard let text = request.header("Authorization"),
            let token = try? AccessToken(verifying: text, with: configuration.keys, at: Date())
        else { return false }
        return !token.claims.sha256.isEmpty
    }

    // MARK: Tokens

    /// The request's token, if one of our keys has signed it and it is good now: nothing else reaches the cluster.
    private func token(
        of request: SocketIOHTTPRequest, for kind: ClusterStatistics.Kind, evenExpired: Bool = false
    ) throws(HTTPRefusal) -> String {
        // RFC 9110 §7.6.3. A server that is its own cluster would ask itself for ever.
        let came = request.headers.filter { $0.name.lowercased() == "via" }.map(\.value)
        guard !came.contains(where: { $0.contains(pseudonym) }) else {
            throw HTTPRefusal(508, "The cluster's URL leads back to this server.")
        }
        do throws(HTTPRefusal) {
            guard let text = request.accessTokenText else { throw .noToken }
            do throws(AccessTokenRefusal) {
                _ = try AccessToken(verifying: text, with: configuration.keys, at: Date())
            } catch {
                // It is the last thing that is looked at.
                guard case .expired = error, evenExpired else { throw HTTPRefusal(error) }
            }
            return text
        } catch {
            counters.refused(kind)
            throw error
        }
    }

    // MARK: Passing on

    private func target(_ path: String, _ request: SocketIOHTTPRequest) -> String {
        let items = request.query.items.filter { $0.name != "access_token" }
        return configuration.server.target(path, EngineIOQuery(items: items))
    }

    private func connect(
        _ path: String, _ request: SocketIOHTTPRequest, _ token: String
    ) async throws(HTTPRefusal) -> MessageSocket {
        do throws(MessageSocket.Failure) {
            let socket = try await MessageSocket.connect(
                to: configuration.server, target: target(path, request),
                headers: PassedHeaders.request(request, token: token, via: via), messageLimit: Self.messageLimit)
            counters.answered(.signaling)
            noteReachable()
            return socket
        } catch {
            switch error {
            case .refused(let response):
                counters.answered(.signaling)
                noteReachable()
                throw HTTPRefusal(passing: response)
            case .unreachable(let reason):
                counters.failed(.signaling)
                note(.unreachable(reason))
                throw .noCluster
            }
        }
    }

    /// Whether the answer may wait for somebody: who is called, or lifts a telephone's receiver.
    private static func waits(_ path: String) -> Bool {
        ["PerformRpc", "CreateSIPParticipant", "TransferSIPParticipant"].contains { path.hasSuffix("/" + $0) }
    }

    private func pass(
        _ request: SocketIOHTTPRequest, to path: String, as kind: ClusterStatistics.Kind, token: String
    ) async throws(HTTPRefusal) -> SocketIOHTTPResponse {
        do throws(HTTPRequester.Failure) {
            let hasBody = request.method == "POST" || request.method == "PATCH"
            var response = try await requester.ask(
                request.method, target(path, request),
                headers: PassedHeaders.request(request, token: token, via: via), body: hasBody ? request.body : nil,
                timeout: Self.waits(path) ? configuration.rpcTimeout : nil)
            response.headers = PassedHeaders.response(response.headers, of: configuration.server)
            counters.answered(kind)
            noteReachable()
            return response
        } catch {
            counters.failed(kind)
            note(error)
            throw HTTPRefusal(error)
        }
    }

    private func call(_ path: String, _ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse {
        do throws(TwirpError) {
            let token: String
            do throws(HTTPRefusal) {
                token = try self.token(of: request, for: .service)
            } catch {
                throw error.status == 508 ? TwirpError(.unavailable, error.text) : TwirpError(error)
            }
            try TwirpCall.checkMethod(of: request)
            do throws(HTTPRefusal) {
                return try await pass(request, to: path, as: .service, token: token)
            } catch {
                throw TwirpError(cluster: error)
            }
        } catch {
            return error.response
        }
    }

    /// A session's token may have expired since the session began, which only the cluster knows.
    private func exchange(
        _ route: ExchangeRoute, _ path: String, _ request: SocketIOHTTPRequest
    ) async -> SocketIOHTTPResponse {
        do throws(HTTPRefusal) {
            let isSession = if case .session = route { true } else { false }
            let token = try token(of: request, for: .exchange, evenExpired: isSession)
            return try await pass(request, to: path, as: .exchange, token: token)
        } catch {
            return error.response(on: route)
        }
    }
}

extension HTTPRefusal {
    /// SDKs try again after it.
    fileprivate static let noCluster = HTTPRefusal(503, "The cluster cannot be reached.")
    /// RFC 9110 §15.6.5.
    fileprivate static let late = HTTPRefusal(504, "The cluster has not answered in time.")
    fileprivate static let tooLarge = HTTPRefusal(502, "The cluster's answer is too large.")

    fileprivate init(_ failure: HTTPRequester.Failure) {
        switch failure {
        case .unreachable, .busy: self = .noCluster
        case .late: self = .late
        case .tooLarge: self = .tooLarge
        }
    }

    /// The cluster's refusal of a WebSocket, in its words, by which SDKs go.
    fileprivate init(passing response: SocketIOHTTPResponse) {
        let body: [UInt8] = if case .bytes(let bytes) = response.body { bytes } else { [] }
        // Another redirection or a success would be taken for the answer to a handshake that was not asked for.
        self.init((400..<600).contains(response.status) ? response.status : 502, String(decoding: body, as: UTF8.self))
    }
}

extension TwirpError {
    /// SDKs ask again what was unavailable; what came too late, or was too large, may be done by now.
    fileprivate init(cluster refusal: HTTPRefusal) {
        let mayBeDone: Code? = refusal == .late ? .deadlineExceeded : refusal == .tooLarge ? .internal : nil
        self.init(mayBeDone ?? .unavailable, refusal.text)
    }
}
