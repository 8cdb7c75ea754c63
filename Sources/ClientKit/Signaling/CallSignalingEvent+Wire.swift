/// The call-room protocol's event names.
enum CallWireEvent {
    static let userJoined = "room_user_joined"
    static let userLeft = "room_user_left"
    static let offer = "offer"
    static let answer = "answer"
    static let candidate = "candidate"
}

extension CallSignalingEvent {
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
    /// Reads `{"username": …, "roomId": …, "isCaller": …}`; whoever does not say that it calls is a callee.
    init(tolerating json: LooseJSON?, event: String) throws(CallPayloadError) {
        guard case .object(let members)? = json, let username = members["username"]?.text else {
            throw .noUsername(event: event)
        }
        self.init(username: username, role: CallRole(isCaller: members["isCaller"]?.truth ?? false))
    }
}
