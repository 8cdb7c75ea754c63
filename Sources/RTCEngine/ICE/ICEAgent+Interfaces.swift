public import RTCWire

/// Addresses of this host that come and go in the course of a call: a laptop leaves its dock, a phone its Wi-Fi.
///
/// RFC 8445 has a restart for that, which needs signaling, and signaling may be cut off by the same change. So what can
/// be done without it is done at once: the pairs that are left are checked, and those of new addresses, which the peer
/// knows by their checks (§7.3.1.3). A restart is asked for only when no address is left.
extension ICEAgent {
    /// The sockets at `lost` are gone with their addresses, and others have been bound at `found`.
    ///
    /// - Parameter mayAskForRestart: false in the midst of one.
    /// - Returns: our candidates that are no more.
    public mutating func interfacesChanged(
        lost: [TransportAddress], found: [TransportAddress], mayAskForRestart: Bool = true, at now: Instant
    ) -> [ICECandidate] {
        guard connectionState != .closed else { return [] }
        let gone = session.locals.filter { lost.contains($0.base) }.map(\.candidate)
        bases.removeAll { lost.contains($0) }
        tcpHosts.removeAll { lost.contains($0.base) }
        for base in lost {
            session.drop(base)
            shelved?.drop(base)
        }
        let isPathLost = path.map { lost.contains($0.route.base) } ?? false
        for base in found where !base.ip.isUnspecified && !bases.contains(base) && mayGather(from: base) {
            bases.append(base)
            gather(from: base, index: bases.count - 1, at: now)
        }
        if isPathLost { losePath(because: "the address of the selected pair is gone") }
        // Without a nominated pair every new address is a chance; with one, the pairs that there are will do.
        if path?.isNominated != true, isPathLost || !found.isEmpty { searchAgain(at: now) }
        advance(at: now)
        if !isPathLost, path == nil, !lost.isEmpty, mayAskForRestart, session.gatherer.state == .complete {
            // It had gone before, and what was left goes after it. While we gather others may come yet.
            askForRestartWithoutAddress()
        }
        return gone
    }

    /// The selected pair is no more; `searchAgain` looks for another one.
    mutating func losePath(because reason: StaticString) {
        path = nil
        shelved = nil
        noteRoute()
        switch connectionState {
        case .connected, .completed: move(to: .disconnected, because: reason)
        case .new, .checking, .disconnected, .failed, .closed: break
        }
        askForRestartWithoutAddress()
    }

    private mutating func askForRestartWithoutAddress() {
        let hasHost = tellsOwnAddresses && !(bases.isEmpty && tcpHosts.isEmpty)
        guard !hasHost, relays.isEmpty, session.peer != nil else { return }
        outputs.append(.restartNeeded)
    }

    /// Checks begin anew within this generation, with every pair that can be formed.
    mutating func searchAgain(at now: Instant) {
        switch session.phase {
        case .checking, .settled: break
        // Before the peer is known there is nothing to check; after a failure only a restart helps.
        case .awaitingPeer, .failed: return
        }
        session.nomination.reset()
        session.phase = .checking(since: now, lastPairAt: now)
        session.searchesAgain = true
        // A lite agent waits for the peer's checks.
        guard !configuration.isLite else { return }
        checkStalePairs(at: now)
        for host in session.hosts { for remote in session.remotes { pair(host, remote, at: now) } }
    }

    /// The controlled side cannot choose: it checks what works again and again, until the controlling peer finds its
    /// own pair silent and nominates this one.
    mutating func remindPeer(at now: Instant) {
        guard let due = remindAt, due <= now, let pair = session.checklist.valid.first else { return }
        session.checklist.trigger(pair.id)
    }

    /// When `remindPeer` has something to do.
    var remindAt: Instant? {
        guard session.searchesAgain, session.isChecking, path == nil, role == .controlled, !configuration.isLite
        else { return nil }
        return session.checklist.valid.first?.validity.map { $0.confirmedAt + Self.remindEvery }
    }

    private static let remindEvery = Interval.milliseconds(1_000)

    // MARK: The peer's side of it

    /// The controlling side, with a pair in use that has fallen silent, hears the peer's check on another one: the peer
    /// has lost the address. What it is reached at now is looked for, and nominated.
    mutating func reopens(for route: ICERoute, at now: Instant) -> Bool {
        guard role == .controlling, let path, path.route != route, isPathQuiet(at: now) else { return false }
        // It may come back, but would be nominated again at once if it counted as working.
        if let old = session.checklist.pair(over: path.route) { session.checklist.fail(old.id) }
        checkStalePairs(at: now)
        session.nomination.reset()
        session.phase = .checking(since: now, lastPairAt: now)
        return true
    }

    /// The search for another pair has found none, and the one that there is still has consent.
    mutating func settleAgain() {
        session.phase = .settled
        session.checklist.settle()
        session.transactions.removeChecks()
    }

    /// The controlled side: the peer nominated another pair since the selected one was last heard. If that stays
    /// silent, the peer has moved.
    mutating func followMove(at now: Instant) {
        guard let due = moveAt, due <= now, let pair = awaitedMove else { return }
        followNomination(of: pair, at: now)
    }

    /// When `followMove` has something to do.
    var moveAt: Instant? { awaitedMove == nil ? nil : path.map { $0.heardAt + Self.quietAfter } }

    private var awaitedMove: CandidatePair? {
        guard role == .controlled, !configuration.isLite, isSettled, let path else { return nil }
        return session.checklist.pairs.first { pair in
            pair.state == .succeeded && pair.route != path.route && pair.wantedAt.map { $0 > path.heardAt } == true
        }
    }
}

extension ICESession {
    /// A socket of ours is gone: what would be sent from it or come to it is over.
    fileprivate mutating func drop(_ base: TransportAddress) {
        locals.removeAll { $0.base == base }
        earlyChecks.removeAll { $0.route.base == base }
        checklist.remove(base: base)
        transactions.remove(base: base)
        gatherer.remove(base: base)
    }
}
