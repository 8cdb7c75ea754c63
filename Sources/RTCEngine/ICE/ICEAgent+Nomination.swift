internal import RTCWire

/// From valid pairs to the one that carries media (RFC 8445 §8).
extension ICEAgent {
    /// The controlling side's decision, when it is due.
    mutating func considerNomination(at now: Instant) {
        guard role == .controlling, session.isChecking else { return }
        let decision = session.nomination.decide(
            over: session.checklist, delay: configuration.nominationDelay, at: now)
        if let decision { session.checklist.trigger(decision, nominating: true) }
    }

    /// The controlled side: a pair that works was nominated (RFC 8445 §7.3.1.5).
    mutating func peerNominated(_ id: PairID, at now: Instant) {
        guard let pair = session.checklist[id], isBetterThanSelected(pair, at: now) else { return }
        select(id, because: "the peer nominated a pair that works", at: now)
    }

    /// The controlled side: a pair whose check came back once was nominated, maybe long after.
    mutating func followNomination(of pair: CandidatePair, at now: Instant) {
        // RFC 7675 §5.1: what was proven a minute ago is no consent now. It is asked for again, and then selected.
        let age = pair.validity.map { now - $0.confirmedAt } ?? configuration.consentTimeout
        guard age >= configuration.consentInterval else { return peerNominated(pair.id, at: now) }
        guard isBetterThanSelected(pair, at: now) else { return }
        session.checklist.update(pair.id) { $0.nomination = .wantedByPeer }
        session.checklist.trigger(pair.id)
    }

    private func isBetterThanSelected(_ pair: CandidatePair, at now: Instant) -> Bool {
        let selected = isSettled ? path.map { (route: $0.route, priority: $0.pairPriority) } : nil
        return ControlledStrategy.shouldSelect(pair, insteadOf: selected, selectedIsQuiet: isPathQuiet(at: now))
    }

    /// Longer than any peer's check interval in use.
    static let quietAfter = Interval.milliseconds(3_000)

    /// Nothing at all has come over the selected pair for a while.
    func isPathQuiet(at now: Instant) -> Bool {
        guard let path else { return true }
        return now - path.heardAt >= Self.quietAfter
    }

    /// The one door for the selected pair (RFC 8445 §8.1.2): everything else is left unchecked.
    mutating func select(_ id: PairID, because reason: StaticString, at now: Instant) {
        session.checklist.update(id) { $0.nomination = .nominated }
        guard let pair = session.checklist[id], let peer = session.peer else { return }
        take(pair, of: peer, isNominated: true, at: now)
        session.phase = .settled
        session.checklist.settle(above: role == .controlled ? pair.priority : .max)
        session.checklist.forget(confirmedBefore: now - configuration.consentTimeout, but: pair.route)
        // Also of those that are to be checked once more: the answer to a check that was given up for that still
        // counts.
        session.transactions.removeChecks(but: session.checklist.pairs.filter { $0.state != .succeeded }.map(\.id))
        session.gatherer.stopKeepalives()
        shelved = nil
        moveToConnected(because: reason)
    }

    /// From now on `pair` carries media.
    mutating func take(_ pair: CandidatePair, of peer: ICERemotePeer, isNominated: Bool, at now: Instant) {
        let isNews = path?.selection != pair.selection
        path = SelectedPath(
            pair, generation: session.generation, isNominated: isNominated,
            local: credential(over: pair.route), peer: peer,
            consent: ConsentFreshness(
                confirmedAt: pair.validity?.confirmedAt ?? now, configuration: configuration, random: &random),
            heardAt: now)
        noteRoute()
        if isNews { outputs.append(.selectedPairChanged(pair.selection)) }
    }
}
