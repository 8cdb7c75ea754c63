/// The payload of `offer` and `answer`: `{"type": "offer", "sdp": "v=0…"}`.
public struct SessionDescriptionPayload: Hashable, Sendable, Codable {
    /// The two kinds that travel in a call room.
    public enum Kind: String, Hashable, Sendable, Codable {
        case offer
        case answer
    }

    /// What the description is for.
    public var type: Kind
    /// The description's text, as it came.
    public var sdp: String
    /// Which call of the sender's it belongs to, and which of the receiver's; ours (see `CallCorrespondence`).
    public var fromCall: String?
    public var toCall: String?
    /// What the sender is called in the room; ours. Says whose leaving ends the call where there are more than two.
    public var fromUser: String?
    /// Who sent it, and for whom, by name: from clients that say so (see `CallRoomSenders`).
    public var from: String?
    public var to: String?
    /// Who is meant, by name, when several could answer; ours. Two who answer one offer meet in one transport of the
    /// caller's, and neither gets through.
    public var toUser: String?

    public init(type: Kind, sdp: String) {
        self.type = type
        self.sdp = sdp
    }

    /// Reads what a peer sent under the event's name.
    ///
    /// The server passes payloads on untouched, so their shape is the peer's. Read are `{type, sdp}` with any
    /// further keys, the same wrapped (`{"offer": {…}}`, `{"sdp": {…}}`, `{"payload": {…}}` and the like), the
    /// same as JSON in a string, and the bare SDP. The event's name decides between offer and answer: peers write
    /// `type` in capitals, as libwebrtc's number, or not at all.
    init(tolerating json: LooseJSON, event: Kind) throws(CallPayloadError) {
        guard let sdp = SessionDescriptionPayload.sdp(in: json, depth: 0) else {
            throw .noSessionDescription(event)
        }
        self.init(type: event, sdp: sdp)
        fromCall = json["fromCall"]?.text
        toCall = json["toCall"]?.text
        // It is shown: nothing is taken for a name that a room would not take.
        fromUser = json["fromUser"]?.text.flatMap { CallName.problem(with: $0) == nil ? $0 : nil }
        from = json["from"]?.text
        to = json["to"]?.text
        toUser = json["toUser"]?.text
    }

    /// Whether it is meant for whoever can answer, or for this person.
    public func isMeant(for username: String) -> Bool { toUser == nil || toUser == username }

    private static let wrappers = ["sdp", "offer", "answer", "description", "sessionDescription", "payload", "data"]

    private static func sdp(in json: LooseJSON, depth: Int) -> String? {
        // Two wrappers are seen in the wild; the bound keeps a hostile nesting cheap.
        guard depth < 4 else { return nil }
        switch json {
        case .string(let text):
            // RFC 8866 §5: every description begins with its version.
            if text.hasPrefix("v=0") { return text }
            guard let inner = LooseJSON(text: text) else { return nil }
            if case .string = inner { return nil }
            return sdp(in: inner, depth: depth + 1)
        case .object(let members):
            for key in wrappers {
                if let member = members[key], let found = sdp(in: member, depth: depth + 1) { return found }
            }
            return nil
        case .array(let elements):
            return elements.first.flatMap { sdp(in: $0, depth: depth + 1) }
        case .null, .bool, .number:
            return nil
        }
    }
}
