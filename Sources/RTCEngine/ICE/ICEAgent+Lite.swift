internal import RTCWire

/// The lite role (RFC 8445 §2.5): this agent answers checks and makes none, and its peer, which is full, does the rest.
/// What it may send of its own accord spares the peer its waiting (`ICEConfiguration.checksBack`), or finds out whether
/// the peer is where its nomination of another pair came from.
extension ICEAgent {
    /// RFC 8445 §5.2: a lite agent has no more than one candidate of IPv4, and one for each address of IPv6.
    func mayGather(from base: TransportAddress) -> Bool {
        guard configuration.isLite else { return true }
        return base.ip.isIPv6 ? !bases.contains { $0.ip == base.ip } : !bases.contains { !$0.ip.isIPv6 }
    }

    /// RFC 8445 §7.3.2, §8.2: a check that nominates makes its pair valid and selected; the others were answered, and
    /// that is all. The latest nomination counts: full agents make them one by one, and only they know which pairs
    /// work.
    mutating func acceptLiteCheck(over route: ICERoute, _ priority: UInt32, isNominated: Bool, at now: Instant) {
        switch session.phase {
        case .awaitingPeer, .failed: return
        // A peer that still checks deserves the whole time.
        case .checking:
            notePair(at: now)
            if configuration.checksBack, !isNominated { checkBack(over: route) }
        case .settled: break
        }
        guard !isSettled || path == nil else {
            return considerMove(to: route, priority, isNominated: isNominated, at: now)
        }
        guard isNominated else { return }
        noteNomination(of: route, priority)
        selectLite(over: route, priority, at: now)
    }

    private mutating func selectLite(over route: ICERoute, _ priority: UInt32, at now: Instant) {
        // What was selected before makes room, or a peer that moves often would find the list full.
        for pair in session.checklist.pairs where pair.route != route { session.checklist.fail(pair.id) }
        guard let pair = session.checklist.pair(over: route) ?? formPair(over: route, priority: priority, at: now)
        else { return }
        session.checklist.succeed(
            pair.id, validity: .init(localCandidate: pair.localCandidate, confirmedAt: now))
        select(pair.id, because: "the peer nominated a pair", at: now)
    }

    /// So many nominated routes are remembered, the latest.
    private static let maximumNominations = 8
    /// Longer than a peer that checks the pair in use alone waits between two checks: that is another pair then.
    private static let abandonedAfter = Interval.seconds(Int64(6))

    /// Whoever has seen a nomination can send it again from elsewhere, and the peer can write a stranger's address on
    /// its own. So what flows already goes to another place only when an answer of the peer's has come from there,
    /// which a full agent gives (RFC 8445 §7.3). It is asked again with each of its checks there.
    ///
    /// A peer that nominates "aggressively" (RFC 5245 §8.1.1.2, Firefox) may use another than the last one: it is
    /// followed to where its checks go on coming from.
    private mutating func considerMove(to route: ICERoute, _ priority: UInt32, isNominated: Bool, at now: Instant) {
        if isNominated { noteNomination(of: route, priority) }
        guard let path, path.route != route else {
            // The latest counts, and that is where media go.
            if isNominated { for place in session.nominations.indices { session.nominations[place].question = nil } }
            return
        }
        guard let place = session.nominations.firstIndex(where: { $0.route == route }) else { return }
        let question = session.nominations[place].question
        guard isNominated || question != nil || now - path.heardAt >= Self.abandonedAfter else { return }
        session.nominations[place].question = request(over: route, question)
    }

    private mutating func noteNomination(of route: ICERoute, _ priority: UInt32) {
        let place = session.nominations.firstIndex { $0.route == route }
        let known = place.map { session.nominations.remove(at: $0) }
        if session.nominations.count >= Self.maximumNominations { session.nominations.removeFirst() }
        session.nominations.append(known ?? LiteNomination(route: route, priority: priority))
    }

    /// An answer came that no check of ours waits for.
    ///
    /// - Returns: whether it was the peer's, from where it moves to.
    mutating func completesMove(_ response: STUNMessage, _ datagram: RawSpan, over route: ICERoute, at now: Instant)
        -> Bool
    {
        guard let place = session.nominations.firstIndex(where: { $0.question == response.transactionID }),
            session.nominations[place].route == route, response.kind == .success, let peer = session.peer,
            response.isAuthentic(in: datagram, key: peer.key)
        else { return false }
        counters.responsesReceived += 1
        // Of what was nominated after it the answer may still come.
        for earlier in 0...place { session.nominations[earlier].question = nil }
        selectLite(over: route, session.nominations[place].priority, at: now)
        return true
    }

    /// To where an authentic check came from, and one for each. It is not repeated, and its answer is awaited by
    /// nobody. There are so few in all because the peer may have written a stranger's address on its check.
    private mutating func checkBack(over route: ICERoute) {
        guard session.checksBack < configuration.maximumChecksBack else { return }
        session.checksBack += 1
        _ = request(over: route)
    }

    /// - Parameter id: of a request that is sent again; nil for a new one.
    private mutating func request(over route: ICERoute, _ id: STUNTransactionID? = nil) -> STUNTransactionID? {
        guard let peer = session.peer, let local = session.hosts.first(where: { $0.base == route.base }) else {
            return nil
        }
        let id = id ?? STUNTransactionID(using: &random)
        let request = checkRequest(
            id, from: credential(over: route).fragment, to: peer,
            priority: Self.reflexivePriority(of: local.candidate), nominates: false)
        counters.requestsSent += 1
        outputs.append(.send(request, from: route.base, to: route.remote))
        return id
    }

    /// RFC 7675 §5: a lite agent makes no consent checks of its own. The peer's authentic checks on the selected pair
    /// are what tells us that it lives and still wants our packets, and whatever else only the peer can have sent
    /// there: Pion's clients make no checks as long as media flow both ways.
    mutating func consentHeard(at now: Instant) {
        guard path?.consent.isFresh == true else { return }
        path?.consent.heard(at: now)
        switch connectionState {
        case .disconnected: moveToConnected(because: "the peer is heard on the selected pair again")
        case .new, .checking, .connected, .completed, .failed, .closed: break
        }
    }
}
