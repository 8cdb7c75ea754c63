internal import RTCWire

/// Names a pair within one generation, while priorities and places change.
struct PairID: Hashable, Sendable {
    let number: Int
}

/// A local and a remote candidate that might work together (RFC 8445 §6.1.2).
struct CandidatePair: Sendable {
    /// RFC 8445 §6.1.2.6.
    enum State: Hashable, Sendable {
        case frozen, waiting, inProgress, succeeded, failed
    }

    /// How far the pair is on its way to be the selected one (RFC 8445 §8.1).
    enum Nomination: Hashable, Sendable {
        case none
        /// The peer sent USE-CANDIDATE before our own check came back (RFC 8445 §7.3.1.5).
        case wantedByPeer
        case nominated
    }

    /// What the check's response proved (RFC 8445 §7.2.5.3.2): kept with the pair that was checked, since both
    /// go over the same base and remote address.
    struct Validity: Sendable {
        /// Ours as the peer saw it.
        var localCandidate: ICECandidate
        var confirmedAt: Instant
    }

    let id: PairID
    let route: ICERoute
    var localCandidate: ICECandidate
    var remoteCandidate: ICECandidate
    var priority: UInt64
    var state: State
    var nomination = Nomination.none
    /// When the peer last nominated it.
    var wantedAt: Instant?
    var validity: Validity?
    var roundTripTime: Interval?

    /// RFC 8445 §6.1.2.6: the two candidates' foundations.
    func sharesFoundation(with other: CandidatePair) -> Bool {
        localCandidate.foundation == other.localCandidate.foundation
            && remoteCandidate.foundation == other.remoteCandidate.foundation
    }

    /// RFC 8445 §6.1.2.3: the same number on both sides, whichever role each has.
    static func priority(local: UInt32, remote: UInt32, role: ICERole) -> UInt64 {
        let controlling: UInt64
        let controlled: UInt64
        switch role {
        case .controlling: (controlling, controlled) = (UInt64(local), UInt64(remote))
        case .controlled: (controlling, controlled) = (UInt64(remote), UInt64(local))
        }
        let tie: UInt64 = controlling > controlled ? 1 : 0
        // A peer chooses its priorities freely: wrap rather than trap.
        return (min(controlling, controlled) << 32) &+ (max(controlling, controlled) << 1) &+ tie
    }

    /// What the owner is told when this pair is chosen.
    var selection: ICESelectedPair {
        ICESelectedPair(
            route: route, localCandidate: validity?.localCandidate ?? localCandidate,
            remoteCandidate: remoteCandidate)
    }
}
