internal import LiveKitCore
internal import LiveKitProtocol
internal import SocketIO

/// Why a request comes to nothing, as a status and a text. What SDKs make of them: 401 and 403 end the attempt, 404 on
/// `/rtc/v1` sends them to `/rtc` unless the text says that there is no such room, 5xx are tried again.
struct HTTPRefusal: Error, Equatable {
    var status: Int
    var text: String
    /// After so many seconds it may be otherwise.
    var retryAfter: Int?

    init(_ status: Int, _ text: String, retryAfter: Int? = nil) {
        self.status = status
        self.text = text
        self.retryAfter = retryAfter
    }

    static let noToken = HTTPRefusal(401, "The request has no access token.")
    static let notAllowed = HTTPRefusal(401, "The token does not let its bearer join a room.")
    static let mayNotPublish = HTTPRefusal(401, "The token does not let its bearer publish.")
    static let noIdentity = HTTPRefusal(400, JoinRefusal.noIdentity.description)
    static let noRoomName = HTTPRefusal(400, "Neither the token nor the request names a room.")
    static let unreadableRoom = HTTPRefusal(
        400, "The room's name in the path is not UTF-8 in percent encoding.")
    static let notComposed = HTTPRefusal(
        400, "Identities and names of rooms are to be composed (Unicode normalization form C).")
    static let offerTooLong = HTTPRefusal(413, "The offer is longer than \(ExchangeRoute.longestOffer) bytes.")
    /// JavaScript's SDK looks for these words.
    static let noSuchRoom = HTTPRefusal(404, "requested room does not exist")

    init(_ refusal: AccessTokenRefusal) { self.init(401, refusal.description) }

    init(_ refusal: JoinRequestRefusal) { self.init(400, refusal.description) }

    init(_ refusal: WorkerRefusal) {
        switch refusal {
        case .join(let refusal): self.init(refusal)
        case .noSuchRoom: self = .noSuchRoom
        case .tooManyRooms(let limit): self.init(503, "The server is full: it has \(limit) rooms.")
        case .tooManyConnections(let limit):
            self.init(503, "The server is full: there are \(limit) connections where the room is.")
        case .elsewhere: self.init(503, "The room is moving. Try again.")
        case .draining: self.init(503, "The server takes no new rooms: it is about to go down.")
        case .goingDown: self.init(503, "The server is going down.")
        }
    }

    private init(_ refusal: JoinRefusal) {
        switch refusal {
        case .notAllowed: self.init(401, refusal.description)
        case .mayNotPublish, .mayNotSubscribe: self.init(403, refusal.description)
        case .noIdentity, .nameTooLong, .metadataTooLong, .attributesTooLong, .badOffer, .unsuitableOffer:
            self.init(400, refusal.description)
        case .roomFull, .tooManyBeside, .roomEnded, .roomDraining: self.init(503, refusal.description)
        }
    }

    var response: SocketIOHTTPResponse {
        var response = SocketIOHTTPResponse.text(text, status: status)
        response.headers += HTTPRefusal.crossOrigin
        // RFC 9110 §10.2.3.
        if let retryAfter { response.headers.append(("Retry-After", "\(retryAfter)")) }
        return response
    }

    /// Pages of any origin may ask: what lets somebody in is the token, which no browser adds by itself.
    static let crossOrigin: [(name: String, value: String)] = [("Access-Control-Allow-Origin", "*")]
}
