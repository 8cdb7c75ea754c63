/// The call-room protocol's event names.
enum CallWireEvent {
    static let userJoined = "room_user_joined"
    static let userLeft = "room_user_left"
    /// Roost's own server tells a newcomer with it, after their `room_user_joined`s, that these are all.
    static let users = "room_users"
    /// Roost's own server says with it that it did not pass a message on.
    static let error = "room_error"
    static let offer = "offer"
    static let answer = "answer"
    static let candidate = "candidate"

    static let all: Set = [userJoined, userLeft, users, error, offer, answer, candidate]
}

extension CallSignalingEvent {
    /// Reads one event of the call room from its JSON text, for a service that is not on Socket.IO; nil for an event
    /// that is not the protocol's.
    public init?(event name: String, json: String) {
        if let payload = LooseJSON(text: json) {
            self.init(wireEvent: name, payload: payload)
        } else if CallWireEvent.all.contains(name) {
            // Not the same as no payload, which ends the candidates.
            self = .unreadable(detail: CallPayloadError.noJSON(event: name).sentence)
        } else {
            return nil
        }
    }

    /// Reads one Socket.IO event of the call room; nil for an event that is not the protocol's.
    ///
    /// - Parameter payload: the event's first argument; nil when it came without arguments.
    init?(wireEvent name: String, payload: LooseJSON?) {
        do throws(CallPayloadError) {
            switch name {
            case CallWireEvent.userJoined:
                self = .peerJoined(try CallParticipant(tolerating: payload, event: name))
            case CallWireEvent.userLeft:
                self = .peerLeft(username: try CallParticipant(tolerating: payload, event: name).username)
            case CallWireEvent.users:
                self = .roster(try CallParticipant.list(tolerating: payload, event: name))
            case CallWireEvent.error:
                self = .unreadable(detail: "The server did not pass a message on.")
            case CallWireEvent.offer:
                self = .offer(try SessionDescriptionPayload(tolerating: payload ?? .null, event: .offer))
            case CallWireEvent.answer:
                self = .answer(try SessionDescriptionPayload(tolerating: payload ?? .null, event: .answer))
            case CallWireEvent.candidate:
                self = .candidate(try IceCandidatePayload(tolerating: payload))
            default:
                return nil
            }
        } catch {
            self = .unreadable(detail: error.sentence)
        }
    }
}

extension CallParticipant {
    /// Reads `{"users": [{"username": …, "isCaller": …}, …]}`, or the bare array.
    static func list(tolerating json: LooseJSON?, event: String) throws(CallPayloadError) -> [CallParticipant] {
        var list = json
        if case .object(let members)? = json { list = members["users"] }
        guard case .array(let elements)? = list else { throw .noUsername(event: event) }
        var participants: [CallParticipant] = []
        for element in elements {
            participants.append(try CallParticipant(tolerating: element, event: event))
        }
        return participants
    }

    /// Reads `{"username": …, "roomId": …, "isCaller": …}`; whoever does not say that it calls is a callee.
    init(tolerating json: LooseJSON?, event: String) throws(CallPayloadError) {
        guard case .object(let members)? = json, let username = members["username"]?.text else {
            throw .noUsername(event: event)
        }
        self.init(username: username, role: CallRole(isCaller: members["isCaller"]?.truth ?? false))
    }
}
