internal import RTCWire

extension ICEAgent {
    /// RFC 8445 §5.1.1: a base's host candidate, and its questions to the STUN servers.
    mutating func gather(from base: TransportAddress, index: Int, at now: Instant) {
        guard mayTellOwnAddress() else { return }
        let candidate = ICECandidate(
            foundation: foundations.foundation(of: .host, base: base.ip),
            priority: ICECandidate.priority(of: .host, localPreference: base.ip.localPreference(index: index)),
            address: .ip(base), type: .host, usernameFragment: session.local.usernameFragment)
        askServers(from: base, at: now)
        noteGathering()
        tell(LocalCandidate(candidate: candidate, address: base, base: base), at: now)
    }

    /// Announces the gathering state when it is new to the owner.
    mutating func noteGathering() {
        guard announcedGathering != session.gatherer.state else { return }
        announcedGathering = session.gatherer.state
        outputs.append(.gatheringStateChanged(announcedGathering))
    }

    /// What was told belonged to a description that was taken back: the next one's candidates are told once more, and
    /// where gathering stands after them.
    mutating func tellGatheringAgain() {
        guard session.gatherer.state != .new else { return }
        outputs.append(.gatheringStateChanged(.gathering))
        for candidate in localCandidates { outputs.append(.localCandidate(candidate)) }
        announcedGathering = .gathering
        noteGathering()
    }

    /// Keeps a candidate, puts it out and pairs it.
    mutating func tell(_ local: LocalCandidate, at now: Instant) {
        session.locals.append(local)
        outputs.append(.localCandidate(local.candidate))
        guard session.isChecking, !configuration.isLite, local.isBase else { return }
        for remote in session.remotes { pair(local, remote, at: now) }
    }

    /// A STUN server told the address that it saw (RFC 8445 §5.1.1.2).
    mutating func serverAnswered(
        _ queryIndex: Int, mapped: TransportAddress?, transaction: STUNTransactions.Transaction, at now: Instant
    ) {
        session.gatherer.answered(queryIndex, keepalive: configuration.keepaliveInterval, at: now)
        if isSettled { session.gatherer.stopKeepalives() }
        guard let mapped else { return }
        tellReflexive(mapped, base: transaction.route.base, server: transaction.route.remote, at: now)
    }

    /// A server sees `base` at `mapped`.
    mutating func tellReflexive(
        _ mapped: TransportAddress, base: TransportAddress, server: TransportAddress, at now: Instant
    ) {
        guard mayTellOwnAddress(), mapped.ip.isIPv6 == base.ip.isIPv6,
            let index = bases.firstIndex(of: base)
        else { return }
        // RFC 8445 §5.1.3: the same address and base say the same; without a NAT that is the host candidate.
        guard !session.locals.contains(where: { $0.address == mapped && $0.base == base }) else { return }
        let candidate = ICECandidate(
            foundation: foundations.foundation(of: .serverReflexive, base: base.ip, server: server),
            priority: ICECandidate.priority(
                of: .serverReflexive, localPreference: base.ip.localPreference(index: index)),
            address: .ip(mapped), type: .serverReflexive, relatedAddress: base,
            usernameFragment: session.local.usernameFragment)
        tell(LocalCandidate(candidate: candidate, address: mapped, base: base), at: now)
    }

    /// Sends the next question to a STUN server; false when there is none.
    mutating func sendNextQuery(at now: Instant) -> Bool {
        guard let (index, route) = session.gatherer.popPending() else { return false }
        let id = STUNTransactionID(using: &random)
        // A public server wants no credential, and an old one no attribute it does not know.
        let datagram = STUNMessage(.request, transactionID: id).encoded()
        session.transactions.begin(
            id, .gather(queryIndex: index), route: route, datagram: datagram, role: role, priority: 0,
            patience: .init(
                rto: configuration.minimumRTO, longestInterval: configuration.maximumRTO,
                sends: configuration.maximumSends), at: now)
        outputs.append(.send(datagram, from: route.base, to: route.remote))
        return true
    }

    /// Keeps the NAT's mappings of our reflexive candidates while the peer is awaited.
    mutating func refreshBindings(at now: Instant) {
        for route in session.gatherer.popKeepalives(every: configuration.keepaliveInterval, at: now) {
            let datagram = STUNMessage(.indication, transactionID: STUNTransactionID(using: &random)).encoded()
            outputs.append(.send(datagram, from: route.base, to: route.remote))
        }
    }
}
