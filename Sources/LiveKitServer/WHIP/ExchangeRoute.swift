internal import Foundation
internal import SocketIO

/// Which endpoint or session of WHIP (RFC 9725) or WHEP a path names.
enum ExchangeRoute: Equatable {
    /// `/whip`, or `/whip/` and the name of a room; `/whip/v1` is LiveKit's.
    case endpoint(HTTPSession.Kind, room: String, Form = .ours)
    /// `/whip/sessions/` and its id; `/whip/v1/` in LiveKit's form.
    case session(HTTPSession.Kind, id: String, Form = .ours)
    /// An endpoint's path, if the room's name in it were percent-encoded as it has to be (RFC 3986 §2.1).
    case unreadable(HTTPSession.Kind)

    /// Whose paths they are. LiveKit's server has `/whip/v1` for every room, and its sessions below that, which a
    /// server before a cluster has to pass on as they are.
    enum Form {
        case ours, liveKits
    }

    static let sdp = "application/sdp"
    static let fragment = "application/trickle-ice-sdpfrag"
    /// Of an offer, in bytes. One of five hundred sections has half as many.
    static let longestOffer = 256 << 10

    /// Nil for paths of others.
    init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard path.hasPrefix("/"), let first = parts.first, let kind = HTTPSession.Kind(rawValue: String(first)) else {
            return nil
        }
        let rest = parts.dropFirst().map(String.init)
        switch (rest.count, rest.first) {
        case (0, _): self = .endpoint(kind, room: "")
        case (1, let name?):
            guard let room = name.removingPercentEncoding else {
                self = .unreadable(kind)
                return
            }
            // However it is escaped: a server that is passed such a path reads it so.
            self = room == Form.liveKits.folder ? .endpoint(kind, room: "", .liveKits) : .endpoint(kind, room: room)
        case (2, Form.ours.folder): self = .session(kind, id: rest[1])
        case (2, Form.liveKits.folder): self = .session(kind, id: rest[1], .liveKits)
        default: return nil
        }
    }

    /// The methods that it answers.
    var methods: [String] {
        switch self {
        case .endpoint, .unreadable: ["GET", "HEAD", "OPTIONS", "POST"]
        case .session: ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH"]
        }
    }

    /// The answer to what needs neither a token nor a session; nil for the rest.
    func answer(to request: SocketIOHTTPRequest) -> SocketIOHTTPResponse? {
        if case .unreadable = self { return HTTPRefusal.unreadableRoom.response(on: self) }
        guard methods.contains(request.method) else { return refusalOfMethod }
        switch request.method {
        case "OPTIONS": return preflight(request)
        // RFC 9725 §4.1, WHEP §4.1: what is there has nothing to show, and says so with success.
        case "GET", "HEAD": return SocketIOHTTPResponse(status: 204, headers: HTTPRefusal.crossOrigin)
        default: return nil
        }
    }

    /// What it takes, told in the answer to `OPTIONS` and with a body of another type.
    var accepts: (name: String, value: String) {
        switch self {
        case .endpoint, .unreadable: ("Accept-Post", Self.sdp)
        case .session: ("Accept-Patch", Self.fragment)
        }
    }

    /// RFC 9725 §4.2: pages of other origins may ask, for what lets somebody in is the token.
    private func preflight(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse {
        SocketIOHTTPResponse(
            status: 204,
            headers: HTTPRefusal.crossOrigin + [
                accepts, ("Access-Control-Allow-Methods", methods.joined(separator: ", ")),
                CrossOrigin.headersAllowed(request, unasked: "Authorization, Content-Type, If-Match"),
                ("Access-Control-Max-Age", "86400"),
            ])
    }

    /// RFC 9725 §4.2: other methods are for extensions to come.
    private var refusalOfMethod: SocketIOHTTPResponse {
        var response = HTTPRefusal(405, "Not allowed").response
        response.headers += [("Allow", methods.joined(separator: ", ")), Self.exposed]
        return response
    }

    /// What scripts may read of a response.
    static let exposed: (name: String, value: String) = (
        "Access-Control-Expose-Headers",
        "Accept-Patch, Accept-Post, Allow, ETag, Link, Location, Retry-After, WWW-Authenticate"
    )
}

extension ExchangeRoute.Form {
    /// The name below which sessions are.
    var folder: String {
        switch self {
        case .ours: "sessions"
        case .liveKits: "v1"
        }
    }
}
