/// Whom a call talks with. The call-room protocol passes every message on to everybody in the room and does not say who
/// sent it, so a third person's offer, or an answer meant for another caller, reaches us too. This keeps them out.
///
/// Our clients add the sender's and the receiver's call to each payload (`fromCall`, `toCall`), and the sender's name
/// to descriptions (`fromUser`); others ignore the keys, as the protocol's payloads are untyped. Whatever a client
/// adds, the certificate tells: within a call nobody changes it.
struct CallCorrespondence: Sendable {
    private struct Partner: Sendable {
        /// Nil for a client that does not name its call.
        var call: String?
        var fingerprints: Set<String>
    }

    private let role: CallRole
    /// Names our side of this call.
    private let call: String
    /// What we are called in the room; nil keeps it to ourselves.
    private let username: String?
    /// Whom we call, by name; nil when whoever is there may answer.
    private let callee: String?
    /// Who made the first offer that we took, or gave the first answer to ours.
    private var partner: Partner?

    init(role: CallRole, call: String, username: String? = nil, callee: String? = nil) {
        self.role = role
        self.call = call
        self.username = username
        self.callee = callee
    }

    /// Whether somebody is the partner already.
    var hasPartner: Bool { partner != nil }

    /// Whether a fact concerns this call. The first offer or answer that does decides who the partner is.
    mutating func accepts(_ fact: CallFact) -> Bool {
        switch fact {
        case .offerReceived(let offer):
            // Only a partner renegotiates towards a caller; an offer from nowhere is another caller's.
            if role == .caller, partner == nil { return false }
            return accepts(offer)
        case .answerReceived(let answer):
            return accepts(answer)
        case .candidateReceived(let candidate):
            return isAddressedToUs(candidate.toCall) && isPartner(candidate.fromCall)
        case .started, .mediaOpened, .mediaUnavailable, .offerMade, .answerMade, .answerApplied, .negotiationFailed,
            .localCandidate, .mediaConnection, .negotiationNeeded, .peerLeft, .signalingLost, .signalingRestored,
            .signalingClosed, .hungUp:
            return true
        }
    }

    private mutating func accepts(_ description: SessionDescriptionPayload) -> Bool {
        if let username, !description.isMeant(for: username) { return false }
        guard isAddressedToUs(description.toCall), isPartner(description.fromCall) else { return false }
        let fingerprints = description.fingerprints
        guard let partner else {
            partner = Partner(call: description.fromCall, fingerprints: fingerprints)
            return true
        }
        // All have to be known, and there has to be one: a stranger's would be let in beside a known one, or as none.
        if partner.fingerprints.isEmpty { return true }
        return !fingerprints.isEmpty && fingerprints.isSubset(of: partner.fingerprints)
    }

    private func isAddressedToUs(_ address: String?) -> Bool { address == nil || address == call }

    private func isPartner(_ sender: String?) -> Bool {
        guard let sender, let known = partner?.call else { return true }
        return sender == known
    }

    /// The signal with both ends' names on it.
    func addressed(_ signal: CallSignal) -> CallSignal {
        switch signal {
        case .offer(var offer):
            offer.toUser = partner == nil ? callee : nil
            return .offer(offer.addressed(from: call, named: username, to: partner?.call))
        case .answer(let answer):
            return .answer(answer.addressed(from: call, named: username, to: partner?.call))
        case .candidate(var candidate):
            candidate.fromCall = call
            candidate.toCall = partner?.call
            return .candidate(candidate)
        }
    }
}

extension SessionDescriptionPayload {
    /// The values of its `a=fingerprint` lines (RFC 8122 §5), in lower case.
    var fingerprints: Set<String> {
        let lines = sdp.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("a=fingerprint:") }
        return Set(lines.map { $0.dropFirst("a=fingerprint:".count).lowercased() })
    }

    fileprivate func addressed(
        from sender: String, named name: String?, to receiver: String?
    ) -> SessionDescriptionPayload {
        var addressed = self
        addressed.fromCall = sender
        addressed.fromUser = name
        addressed.toCall = receiver
        return addressed
    }
}
