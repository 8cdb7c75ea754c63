public import SocketIO

/// Somebody in a call room, as `room_user_joined` tells it.
public struct CallRoomUser: Hashable, Sendable {
    public var username: String
    public var roomId: Int
    public var isCaller: Bool

    public init(username: String, roomId: Int, isCaller: Bool) {
        self.username = username
        self.roomId = roomId
        self.isCaller = isCaller
    }

    /// The payload of `room_user_joined`.
    var joinedPayload: RawJSON {
        RawJSON(object: [
            "username": RawJSON(string: username), "roomId": RawJSON(roomId), "isCaller": RawJSON(isCaller),
        ])
    }

    /// The payload of `room_users`.
    static func listPayload(_ users: [CallRoomUser]) -> RawJSON {
        let members = users.map { user in
            RawJSON(object: ["username": RawJSON(string: user.username), "isCaller": RawJSON(user.isCaller)])
        }
        return RawJSON(object: ["users": RawJSON(array: members)])
    }

    /// The payload of `room_user_left`.
    var leftPayload: RawJSON { RawJSON(object: ["username": RawJSON(string: username)]) }
}

/// The names of the protocol's events.
enum CallRoomEventName {
    static let joined = "room_user_joined"
    static let left = "room_user_left"
    /// Ours: everybody who is there, told to a newcomer.
    static let users = "room_users"
    static let offer = "offer"
    static let answer = "answer"
    static let candidate = "candidate"
    /// Ours: tells a client what it did wrong, without ending its call.
    static let error = "room_error"
    /// Passed on as they are.
    static let relayed = [offer, answer, candidate]
}

/// What a participant sends to the others in its room. The JSON is passed on untouched.
public enum CallSignal: Hashable, Sendable {
    case offer(RawJSON)
    case answer(RawJSON)
    case candidate(RawJSON)

    /// The event that carries it.
    var name: String {
        switch self {
        case .offer: CallRoomEventName.offer
        case .answer: CallRoomEventName.answer
        case .candidate: CallRoomEventName.candidate
        }
    }

    var payload: RawJSON {
        switch self {
        case .offer(let json), .answer(let json), .candidate(let json): json
        }
    }

    /// The signal of an event; nil for another event.
    init?(name: String, payload: RawJSON) {
        switch name {
        case CallRoomEventName.offer: self = .offer(payload)
        case CallRoomEventName.answer: self = .answer(payload)
        case CallRoomEventName.candidate: self = .candidate(payload)
        default: return nil
        }
    }
}
