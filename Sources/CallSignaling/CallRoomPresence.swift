import SocketIO

/// What a client knows about who is in its room, without I/O: turns what happens on the connection into the events
/// of the room.
struct CallRoomPresence: Sendable {
    private let user: CallRoomUser
    /// Those we know of, ourselves not among them.
    private(set) var others: [CallRoomUser] = []
    /// Whether the connection has ended for good.
    private(set) var isOver = false

    init(user: CallRoomUser) { self.user = user }

    mutating func received(_ happening: SocketIOClientHappening) -> [CallRoomEvent] {
        switch happening {
        case .event(let event): return received(event)
        case .state(.connected): return [.connected]
        case .state(.reconnecting(let attempt, _, let reason)):
            // Later attempts are no news. Whoever was there may still be: a call goes on while its media flows.
            return attempt == 1 ? [.disconnected(reason, willReconnect: true)] : []
        case .state(.disconnected(let reason?)):
            isOver = true
            return [.disconnected(reason, willReconnect: false)]
        case .state(.disconnected(nil)), .state(.connecting): return []
        }
    }

    private mutating func received(_ event: SocketIOEvent) -> [CallRoomEvent] {
        guard let payload = event.arguments.first else { return [] }
        if let signal = CallSignal(name: event.name, payload: payload) {
            return introduceStranger() + [CallRoomEvent(signal)]
        }
        switch event.name {
        case CallRoomEventName.joined:
            guard let joined = CallRoomUser(joined: payload, roomId: user.roomId, isCaller: !user.isCaller) else {
                return []
            }
            // The stranger has a name now, or somebody came back.
            others.removeAll { $0.isAnonymous || $0.username == joined.username }
            others.append(joined)
            return [.userJoined(joined)]
        case CallRoomEventName.left:
            guard let username = payload["username"]?.string else { return [] }
            others.removeAll { $0.isAnonymous || $0.username == username }
            return [.userLeft(username: username)]
        default: return []
        }
    }

    /// A signal from somebody while nobody is known to be there.
    private mutating func introduceStranger() -> [CallRoomEvent] {
        guard others.isEmpty else { return [] }
        let stranger = CallRoomUser(username: "", roomId: user.roomId, isCaller: !user.isCaller)
        others = [stranger]
        return [.userJoined(stranger)]
    }
}
