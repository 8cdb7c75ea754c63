internal import RTCWire

/// The time between a pair that works and the nomination of one. RFC 8445 §12.1: until then data may go over any valid
/// pair, and W3C's `connected` says just that: a usable pair, and maybe still looking for a better one. So DTLS does
/// not wait for the nomination's turn behind Ta, nor for `nominationDelay`.
///
/// A pair in use before it is nominated is provisional. Its consent is kept like any other's (RFC 7675 §5.1: the answer
/// to its check was the first one); what ends it is a nomination, or that it fails, or the end of the search.
extension ICEAgent {
    /// Whether the pair in use was not nominated, and is of this generation.
    var isProvisional: Bool { path.map { !$0.isNominated && $0.generation == session.generation } ?? false }

    /// Takes the best pair that works, if there is none in use. A pair of the generation before, during a restart, is
    /// kept instead (§9), and after the loss of an address the peer has to hear of it first (`remindPeer`).
    mutating func useBestPair(at now: Instant) {
        guard path == nil, session.isChecking, !session.searchesAgain, let peer = session.peer,
            let pair = session.checklist.valid.first(where: { isFresh($0, at: now) })
        else { return }
        take(pair, of: peer, isNominated: false, at: now)
        moveToConnected(because: "a pair works")
    }

    /// The peer sends data over another pair that works. What the controlling side uses it will most likely nominate,
    /// and a way that is used in both directions is the one that NATs keep open: answer there.
    mutating func followPeer(to route: ICERoute, at now: Instant) {
        guard isProvisional, session.isChecking, role == .controlled, path?.route != route, let peer = session.peer,
            let pair = session.checklist.pair(over: route), pair.state == .succeeded, isFresh(pair, at: now)
        else { return }
        take(pair, of: peer, isNominated: false, at: now)
        moveToConnected(because: "the peer uses another pair that works")
    }

    /// A check of the provisional pair, for its nomination maybe, has failed since it is in use.
    mutating func leaveFailedPair(at now: Instant) {
        guard isProvisional, session.isChecking, let path,
            session.checklist.pair(over: path.route)?.validity == nil
        else { return }
        leaveProvisionalPair(at: now)
    }

    /// RFC 7675 §5.1: what was proven long ago is no consent now.
    private func isFresh(_ pair: CandidatePair, at now: Instant) -> Bool {
        pair.validity.map { now - $0.confirmedAt < configuration.consentInterval } ?? false
    }

    /// What worked some time ago may have gone with what has failed now. Nominated as it is, it would be asked for long
    /// before it is given up.
    mutating func checkStalePairs(at now: Instant) {
        for pair in session.checklist.valid where !isFresh(pair, at: now) { session.checklist.trigger(pair.id) }
    }

    /// The best of the others takes over, and those that have not been heard of for a while are checked again. Until
    /// one works the search goes on as if there had been none (W3C RTCIceTransportState, "checking": consent checks
    /// have failed on all previously successful pairs).
    mutating func leaveProvisionalPair(at now: Instant) {
        guard let path else { return }
        if let pair = session.checklist.pair(over: path.route) {
            session.checklist.fail(pair.id)
            session.nomination.pairFailed(pair.id)
        }
        self.path = nil
        noteRoute()
        useBestPair(at: now)
        checkStalePairs(at: now)
        if self.path == nil { move(to: .checking, because: "the pair in use has failed before any was nominated") }
    }
}
