internal import CallSignaling
internal import ChatServer
internal import Foundation
internal import LiveKitProtocol
internal import LiveKitServer
internal import SocketIO

/// `POST /rooms/token`: lets whoever sees the page into a room for many, as `/socket.io` lets them into call rooms.
///
/// Takes `{"room": …, "name": …}`, and answers `{"identity": …, "token": …}` or, with a status, `{"error": …}`. An
/// answer costs a signature, and of it nothing is kept but how often an address asks: each token may make a room. A
/// `GET` is answered `{"rooms": …}`, whether there are any.
struct RoomTokenRoute: Sendable {
    static let path = "/rooms/token"
    /// Two names and what JSON makes of them.
    static let bodyLimit = 4_096
    /// For how long somebody may wait before joining; whoever is in a room is given newer tokens there.
    private static let validity: TimeInterval = 10 * 60

    /// Signs the tokens; nil where the page has no such rooms.
    let key: APIKey?
    /// Whose pages may ask, as for Socket.IO.
    let origins: SocketIOServerConfiguration.Origins
    /// How often one address may ask; nil for as often as it likes.
    let gate: AddressGate?

    private struct Question: Decodable {
        let room: String
        let name: String
    }

    private struct Answer: Encodable {
        let identity: String
        let token: String
    }

    private struct Refusal: Encodable {
        let error: String
    }

    func answer(_ request: SocketIOHTTPRequest, at now: Date = Date()) -> SocketIOHTTPResponse {
        if request.method == "GET" { return Self.json(["rooms": key != nil], status: 200) }
        guard request.method == "POST" else {
            return Self.refusal("This address answers GET and POST only.", status: 405)
        }
        guard isAllowed(request) else {
            return Self.refusal("Pages of this origin may not ask this server for a room.", status: 403)
        }
        guard let key else {
            return Self.refusal("This server has no rooms for many: it was started without --rooms.", status: 404)
        }
        if let wait = gate?.take(request.remoteAddress) {
            // RFC 6585 §4.
            var refusal = Self.refusal(
                "Too many tokens were asked for from this address. Try again in \(wait) seconds.", status: 429)
            refusal.headers.append(("Retry-After", "\(wait)"))
            return refusal
        }
        guard let question = try? JSONDecoder().decode(Question.self, from: Data(request.body)),
            let room = Self.text(question.room), let name = Self.text(question.name)
        else {
            return Self.refusal(
                "A room and a name of 1 to \(CallRoomParameters.usernameLimit) characters are needed.", status: 400)
        }
        guard !ChatServer.isCallRoom(room) else {
            return Self.refusal("This is a room of a call: its people have tokens of their own.", status: 403)
        }
        // The same name may come in twice, and twice the same identity may not: the room would throw the first one out.
        let identity = "page-" + CallRelay.randomText()
        var claims = AccessToken.Claims()
        claims.name = name
        var grants = VideoGrants()
        grants.roomJoin = true
        grants.room = room
        claims.video = grants
        let token = AccessToken(identity: identity, claims: claims, at: now, validFor: Self.validity)
        guard let text = try? token.signed(with: key) else {
            return Self.refusal("No token could be made.", status: 500)
        }
        return Self.json(Answer(identity: identity, token: text), status: 200)
    }

    /// The rule of Socket.IO's endpoint. Programs send no `Origin`.
    private func isAllowed(_ request: SocketIOHTTPRequest) -> Bool {
        guard let origin = request.header("Origin") else { return true }
        if let host = request.header("Host"), origin.hasSuffix("://" + host) { return true }
        switch origins {
        case .any: return true
        case .sameOrigin: return false
        case .these(let allowed): return allowed.contains(origin)
        }
    }

    /// A name as in call rooms: something to read, and not too long. Composed, as the rooms want names to be: keyboards
    /// write them either way.
    private static func text(_ given: String) -> String? {
        let text = given.trimmingCharacters(in: .whitespacesAndNewlines).precomposedStringWithCanonicalMapping
        let isShort =
            text.utf8.count <= CallRoomParameters.usernameByteLimit && text.count <= CallRoomParameters.usernameLimit
        return !text.isEmpty && isShort ? text : nil
    }

    private static func refusal(_ text: String, status: Int) -> SocketIOHTTPResponse {
        json(Refusal(error: text), status: status)
    }

    private static func json(_ value: some Encodable, status: Int) -> SocketIOHTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let body = try? encoder.encode(value) else { return .text("", status: 500) }
        return SocketIOHTTPResponse(
            status: status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: .bytes([UInt8](body)))
    }
}
