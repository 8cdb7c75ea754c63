internal import ChatCore
internal import ChatModel
internal import Foundation
internal import SocketIO

/// Who asks.
struct Caller: Sendable, Equatable {
    let user: UserID
    let session: SessionID
    /// When the access token was made by which they are known.
    var tokenMade = Timestamp(milliseconds: 0)
}

/// A request to a route, whose path has been matched.
struct APIRequest: Sendable {
    let http: SocketIOHTTPRequest
    /// By the names of the pattern, percent encoding taken away.
    let parameters: [String: String]
    /// Nil on routes for anybody.
    var caller: Caller?

    /// Who asks, on a route for people who are logged in.
    func user() throws(ChatError) -> UserID {
        guard let caller else { throw .notLoggedIn }
        return caller.user
    }

    func session() throws(ChatError) -> SessionID {
        guard let caller else { throw .notLoggedIn }
        return caller.session
    }

    // MARK: The path

    /// The identifier at a place of the path. What is no identifier names nothing.
    func id<Named>(_ name: String) throws(ChatError) -> Identifier<Named> {
        guard let text = parameters[name], let id = Identifier<Named>(text) else {
            throw .notFound(String(name.prefix { $0 != "_" }))
        }
        return id
    }

    func text(_ name: String) throws(ChatError) -> String {
        guard let text = parameters[name] else { throw .notFound(name) }
        return text
    }

    // MARK: The query

    func query(_ name: String) -> String? { http.query[name] }

    func header(_ name: String) -> String? { http.header(name) }

    var cursor: Cursor? { http.query["cursor"].map { Cursor($0) } }

    func limit() throws(ChatError) -> Int? { try number("limit").map { Int(clamping: $0) } }

    func number(_ name: String) throws(ChatError) -> Int64? {
        guard let text = http.query[name] else { return nil }
        guard let number = Int64(text), number >= 0 else { throw .invalid(name, "This takes a whole number.") }
        return number
    }

    /// Which part of a history is asked for: one of `before`, `after`, `around`, `unread`.
    func historyPart() throws(ChatError) -> HistoryPart {
        let given = ["before", "after", "around", "unread"].filter { http.query[$0] != nil }
        guard given.count <= 1 else {
            throw .invalid(given[1], "Of before, after, around and unread there can be one.")
        }
        if let cursor = http.query["before"] { return .before(Cursor(cursor)) }
        if let cursor = http.query["after"] { return .after(Cursor(cursor)) }
        if let id = http.query["around"] {
            guard let id = MessageID(id) else { throw .invalid("around", "This takes a message's identifier.") }
            return .around(id)
        }
        return http.query["unread"] == "true" ? .unread : .newest
    }

    // MARK: Conditions and bodies

    /// The version that `If-Match` names (RFC 9110 §13.1.1); nil for any.
    func version() throws(ChatError) -> Int64? {
        guard let header = http.header("If-Match"), header != "*" else { return nil }
        guard header.hasPrefix("\""), header.hasSuffix("\""), let version = Int64(header.dropFirst().dropLast()) else {
            // An entity tag that we have not given out is of no state that there is.
            throw .outdated
        }
        return version
    }

    /// The body as JSON.
    func body<Body: Decodable>(_ type: Body.Type = Body.self) throws(ChatError) -> Body {
        do {
            return try JSONDecoder().decode(type, from: Data(http.body))
        } catch let error as DecodingError {
            throw ChatError(error)
        } catch {
            throw .notJSON
        }
    }
}

extension SocketIOHTTPRequest {
    /// What a request without a token counts against.
    var site: String { NetworkSite.name(of: remoteAddress) }
}
