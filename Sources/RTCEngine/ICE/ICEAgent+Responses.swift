internal import RTCWire

/// What comes back to our own requests (RFC 8445 §7.2.5).
extension ICEAgent {
    mutating func receiveResponse(
        _ response: STUNMessage, _ datagram: RawSpan, over route: ICERoute, at now: Instant
    ) {
        if path?.consent.awaits(response.transactionID) == true {
            return receiveConsentResponse(response, datagram, over: route, at: now)
        }
        // Late, repeated or forged: nobody asked.
        guard let transaction = session.transactions.find(response.transactionID) else {
            if configuration.isLite, completesMove(response, datagram, over: route, at: now) { return }
            counters.datagramsIgnored += 1
            return
        }
        switch transaction.purpose {
        case .gather(let index):
            guard route == transaction.route else {
                counters.datagramsIgnored += 1
                return
            }
            session.transactions.finish(transaction.id)
            let mapped = response.kind == .success ? response.reflexiveAddress : nil
            serverAnswered(index, mapped: mapped, transaction: transaction, at: now)
        case .check(let check):
            // RFC 8489 §9.1.4: what is not signed by the peer was never received; the request goes on waiting.
            guard let peer = session.peer, response.hasFingerprint, response.isAuthentic(in: datagram, key: peer.key)
            else {
                counters.datagramsIgnored += 1
                return
            }
            counters.responsesReceived += 1
            session.transactions.finish(transaction.id)
            conclude(check, transaction, response, over: route, at: now)
        }
    }

    /// An authentic response to a connectivity check.
    private mutating func conclude(
        _ check: Checklist.Check, _ transaction: STUNTransactions.Transaction, _ response: STUNMessage,
        over route: ICERoute, at now: Instant
    ) {
        // RFC 8445 §7.2.5.2.1: the way back must be the way there. RFC 8489 §6.3.3: nor may it hold what we must
        // understand and do not.
        guard route == transaction.route, response.unknownRequiredAttributes.isEmpty else { return fail(check) }
        switch response.kind {
        case .success:
            guard let mapped = response.reflexiveAddress, mapped.ip.isIPv6 == route.base.ip.isIPv6 else {
                return fail(check)
            }
            succeed(check, transaction, mapped: mapped, at: now)
        case .error where response.errorCode?.code == STUNErrorCode.roleConflict.code:
            yieldRole(check, transaction)
        case .error, .request, .indication:
            fail(check)
        }
    }

    /// RFC 8445 §7.2.5.3: the pair works.
    private mutating func succeed(
        _ check: Checklist.Check, _ transaction: STUNTransactions.Transaction, mapped: TransportAddress,
        at now: Instant
    ) {
        guard let pair = session.checklist[check.pair] else { return }
        guard let local = localCandidate(at: mapped, for: pair, priority: transaction.priority) else {
            return fail(check)
        }
        // Another transaction of the same pair may still be open.
        session.transactions.cancelChecks(of: pair.id)
        session.checklist.succeed(pair.id, validity: .init(localCandidate: local, confirmedAt: now))
        if let roundTrip = transaction.roundTrip(at: now) {
            session.checklist.update(pair.id) { $0.roundTripTime = roundTrip }
            counters.totalRoundTripTime = counters.totalRoundTripTime + roundTrip
        }
        if check.nominates, transaction.role == .controlling, role == .controlling {
            select(pair.id, because: "the peer confirmed the nomination", at: now)
        } else if role == .controlled, pair.nomination == .wantedByPeer {
            peerNominated(pair.id, at: now)
        } else {
            useBestPair(at: now)
        }
    }

    /// Ours as the peer sees it: a candidate that we know, or a peer-reflexive one (RFC 8445 §7.2.5.3.1).
    private mutating func localCandidate(
        at mapped: TransportAddress, for pair: CandidatePair, priority: UInt32
    ) -> ICECandidate? {
        let base = pair.route.base
        if let known = session.locals.first(where: { $0.address == mapped && $0.base == base }) {
            return known.candidate
        }
        // The peer chooses what it reports: do not remember without end.
        guard session.locals.count < configuration.maximumRemoteCandidates else { return nil }
        let transport = pair.localCandidate.transport
        let candidate = ICECandidate(
            foundation: foundations.foundation(of: .peerReflexive, base: base.ip, transport: transport),
            transport: transport, priority: priority, address: .ip(mapped), type: .peerReflexive, relatedAddress: base,
            tcpType: pair.localCandidate.tcpType, usernameFragment: session.local.usernameFragment)
        // Not put out: the peer knows it already, and it serves no other pair.
        session.locals.append(LocalCandidate(candidate: candidate, address: mapped, base: base))
        return candidate
    }

    /// RFC 8445 §7.2.5.1: the peer keeps the role that both claimed; take the other and check again.
    private mutating func yieldRole(_ check: Checklist.Check, _ transaction: STUNTransactions.Transaction) {
        // A lite peer cannot control.
        guard session.peer?.isLite != true else { return fail(check) }
        // A 487 to a request from before the switch is stale: it says nothing about the role we have now.
        if transaction.role == role {
            switchRole(to: role.opposite)
            // Equal tie-breakers would otherwise make both sides yield for ever.
            tieBreaker = random.next()
        }
        guard let pair = session.checklist[check.pair], pair.state != .succeeded else { return }
        session.checklist.trigger(pair.id)
    }
}
