public import SocketIO

/// What a participant of a call room gets to know.
public enum CallRoomEvent: Hashable, Sendable {
    /// In the room; who is present follows.
    case connected
    /// Somebody came, or is there already.
    case userJoined(CallRoomUser)
    /// Somebody went.
    case userLeft(username: String)
    /// Everybody else who is there, in our server's own words: one connection less is not always one person less.
    case users([CallRoomUser])
    /// The JSON is what the other side sent, byte for byte.
    case offer(RawJSON)
    /// Likewise.
    case answer(RawJSON)
    /// Likewise; the end of candidates looks as the other side made it.
    case candidate(RawJSON)

    init(_ signal: CallSignal) {
        switch signal {
        case .offer(let json): self = .offer(json)
        case .answer(let json): self = .answer(json)
        case .candidate(let json): self = .candidate(json)
        }
    }

    /// The event's name and payload on the wire; nil for what only the client itself tells.
    var wire: (name: String, payload: RawJSON)? {
        switch self {
        case .userJoined(let user): (CallRoomEventName.joined, user.joinedPayload)
        case .userLeft(let username):
            (CallRoomEventName.left, CallRoomUser(username: username, roomId: 0, isCaller: false).leftPayload)
        case .users(let users): (CallRoomEventName.users, CallRoomUser.listPayload(users))
        case .offer(let json): (CallRoomEventName.offer, json)
        case .answer(let json): (CallRoomEventName.answer, json)
        case .candidate(let json): (CallRoomEventName.candidate, json)
        case .connected: nil
        }
    }
}
