/// Whose messages are whose, for one who receives from several callers of a room at once. The protocol does not say who
/// sent a message, so what the payload says decides: `from` or `fromUser` (a name), `fromCall` (the name of the
/// sender's call), or else the certificate of an offer and the ICE user name of a candidate.
public struct CallRoomSenders: Sendable {
    private struct Sender: Sendable {
        let name: String
        /// What it calls its call, and what we call our side of it.
        var call: String?
        var fingerprints: Set<String> = []
        var usernameFragments: Set<Substring> = []
    }

    private let us: String
    private var senders: [Sender] = []
    /// The callers in the room, in the order in which they came.
    private var callers: [String] = []
    private var strangers = 0
    /// More than a room holds, several times over. The one who was heard of first is forgotten for a new one: everybody
    /// in the room may make up names.
    static let limit = 256

    /// - Parameter us: our name in the room.
    public init(us: String) { self.us = us }

    // MARK: The room

    /// The server tells who is in the room.
    public mutating func present(_ participants: [CallParticipant]) {
        callers = participants.filter { $0.role == .caller }.map(\.username)
    }

    /// Somebody came: one more connection of that name, if there is one already.
    public mutating func joined(_ participant: CallParticipant) {
        if participant.role == .caller { callers.append(participant.username) }
    }

    /// A connection has ended. True when it was the last of that name: the name is free, and a next call of the same
    /// name is theirs again. Servers that tell of every connection tell of a lost one long after its owner has come
    /// back.
    public mutating func left(_ username: String) -> Bool {
        if let place = callers.firstIndex(of: username) { callers.remove(at: place) }
        guard !callers.contains(username) else { return false }
        forget(username)
        return true
    }

    /// A call is over.
    public mutating func forget(_ name: String) { senders.removeAll { $0.name == name } }

    // MARK: Messages

    /// Who made this offer; nil when it is for somebody else.
    public mutating func sender(of offer: SessionDescriptionPayload) -> String? {
        guard isForUs(to: offer.to ?? offer.toUser, call: offer.toCall) else { return nil }
        let fingerprints = offer.fingerprints
        let place = place(from: offer.from ?? offer.fromUser, call: offer.fromCall) {
            !fingerprints.isEmpty && $0.fingerprints == fingerprints
        }
        senders[place].call = offer.fromCall
        senders[place].fingerprints = fingerprints
        senders[place].usernameFragments = offer.usernameFragments
        return senders[place].name
    }

    /// Whose candidate this is; nil when it is for somebody else, or nothing tells.
    public mutating func sender(of candidate: IceCandidatePayload) -> String? {
        guard isForUs(to: candidate.to, call: candidate.toCall) else { return nil }
        if candidate.from != nil {
            return senders[place(from: candidate.from, call: candidate.fromCall) { _ in false }].name
        }
        // A call that has made no offer to us is somebody else's.
        if let call = candidate.fromCall { return senders.first { $0.call == call }?.name }
        if let fragment = candidate.generation,
            let sender = senders.first(where: { $0.usernameFragments.contains(fragment) })
        {
            return sender.name
        }
        return senders.count == 1 ? senders[0].name : nil
    }

    // MARK: Replies

    /// The answer to a sender's offer, addressed in every way that clients understand.
    public func answer(_ sdp: String, to name: String) -> SessionDescriptionPayload {
        var answer = SessionDescriptionPayload(type: .answer, sdp: sdp)
        answer.from = us
        answer.fromUser = us
        answer.to = name
        answer.fromCall = call(with: name)
        answer.toCall = senders.first { $0.name == name }?.call
        return answer
    }

    /// A candidate of ours for a sender.
    public func addressed(_ candidate: IceCandidatePayload, to name: String) -> IceCandidatePayload {
        var addressed = candidate
        addressed.from = us
        addressed.to = name
        addressed.fromCall = call(with: name)
        addressed.toCall = senders.first { $0.name == name }?.call
        return addressed
    }

    /// What we call our side of the call with a sender.
    private func call(with name: String) -> String { "\(us)/\(name)" }

    /// A call of ours begins with our name; what is addressed to another call is not for us.
    private func isForUs(to name: String?, call: String?) -> Bool {
        if let name, !name.isEmpty, name != us { return false }
        return call.map { $0.hasPrefix("\(us)/") } ?? true
    }

    /// The sender that fits, or a new one.
    private mutating func place(
        from: String?, call: String?, or fits: (Sender) -> Bool
    ) -> Int {
        if let from, CallName.problem(with: from) == nil {
            if let place = senders.firstIndex(where: { $0.name == from }) { return place }
            return add(from)
        }
        if let call, let place = senders.firstIndex(where: { $0.call == call }) { return place }
        if call == nil, let place = senders.firstIndex(where: fits) { return place }
        let place = add(freeName())
        senders[place].call = call
        return place
    }

    private mutating func add(_ name: String) -> Int {
        if senders.count == Self.limit { senders.removeFirst() }
        senders.append(Sender(name: name))
        return senders.count - 1
    }

    /// The caller who has not called yet, if there is just one; otherwise a number. Not every server looks at names.
    private mutating func freeName() -> String {
        let free = Set(callers).subtracting(senders.map(\.name))
        if free.count == 1, let name = free.first, CallName.problem(with: name) == nil { return name }
        strangers += 1
        return "caller \(strangers)"
    }
}

extension SessionDescriptionPayload {
    /// The values of its `a=ice-ufrag` lines (RFC 8839 §5.4).
    fileprivate var usernameFragments: Set<Substring> {
        let lines = sdp.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("a=ice-ufrag:") }
        return Set(lines.map { $0.dropFirst("a=ice-ufrag:".count) })
    }
}

extension IceCandidatePayload {
    /// The generation of ICE that it says it belongs to, beside the candidate or in it (RFC 8839 §5.1, the extension
    /// `ufrag`).
    fileprivate var generation: Substring? {
        if let usernameFragment { return usernameFragment[...] }
        let words = candidate.split(separator: " ")
        guard let name = words.firstIndex(of: "ufrag"), words.indices.contains(name + 1) else { return nil }
        return words[name + 1]
    }
}
