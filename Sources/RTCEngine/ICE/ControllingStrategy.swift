internal import RTCWire

/// How the controlling agent picks the pair (RFC 8445 §8.1.1, regular nomination): at once when nothing better can
/// be expected, after a short wait otherwise.
struct ControllingStrategy: Sendable {
    private enum Phase: Hashable, Sendable {
        case watching
        /// A pair works; a better one may still turn up.
        case waiting(until: Instant)
        /// A check with USE-CANDIDATE is on its way.
        case requested(PairID)
    }

    private var phase = Phase.watching

    /// When a decision is due without any new fact.
    var nextWake: Instant? {
        switch phase {
        case .watching, .requested: nil
        case .waiting(let until): until
        }
    }

    /// The pair to nominate now, if any.
    mutating func decide(over checklist: Checklist, delay: Interval, at now: Instant) -> PairID? {
        // Its address is gone, and its answer will not come.
        if case .requested(let id) = phase, checklist[id] == nil { phase = .watching }
        guard let best = checklist.valid.first else {
            // What worked has failed since: waiting is over, and begins again with the next pair that works.
            if case .waiting = phase { phase = .watching }
            return nil
        }
        switch phase {
        case .requested:
            return nil
        case .watching where Self.isUnbeatable(best, in: checklist):
            break
        case .watching:
            phase = .waiting(until: now + delay)
            return nil
        case .waiting(let until):
            guard until <= now || Self.isUnbeatable(best, in: checklist) else { return nil }
        }
        phase = .requested(best.id)
        return best.id
    }

    /// The role was lost: begin again with what works then.
    mutating func reset() { phase = .watching }

    /// A check of this pair failed: if it was to be nominated, begin again with what works then.
    mutating func pairFailed(_ id: PairID) {
        if phase == .requested(id) { phase = .watching }
    }

    /// Host to host, and no pair above it that might yet succeed. Of other pairs a better kind may be on its way.
    private static func isUnbeatable(_ pair: CandidatePair, in checklist: Checklist) -> Bool {
        guard pair.selection.localCandidate.type == .host, pair.remoteCandidate.type == .host else { return false }
        return !checklist.pairs.contains {
            guard $0.priority > pair.priority else { return false }
            switch $0.state {
            case .frozen, .waiting, .inProgress: return true
            case .succeeded, .failed: return false
            }
        }
    }
}
