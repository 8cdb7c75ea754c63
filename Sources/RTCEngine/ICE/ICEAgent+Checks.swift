internal import RTCWire

/// The checks that we make, one every Ta (RFC 8445 §6.1.4.2, §7.2.4).
extension ICEAgent {
    /// Sends new transactions as far as the pacing allows.
    mutating func sendNext(at now: Instant) {
        while nextTransactionAt <= now {
            guard sendNextQuery(at: now) || sendNextCheck(at: now) else { return }
            nextTransactionAt = now + configuration.checkInterval
        }
    }

    /// Whether something waits for its turn.
    var hasTransactionWaiting: Bool {
        mutating get { session.gatherer.hasPending || (maySendChecks && session.checklist.hasNextCheck) }
    }

    private var maySendChecks: Bool {
        // RFC 8445 §2.5: a lite agent makes no checks.
        if configuration.isLite { return false }
        return switch session.phase {
        // Settled: only what the peer's change of mind has triggered is left in the list.
        case .checking, .settled: true
        case .awaitingPeer, .failed: false
        }
    }

    private mutating func sendNextCheck(at now: Instant) -> Bool {
        guard maySendChecks, let peer = session.peer, let check = session.checklist.popNextCheck(),
            let pair = session.checklist[check.pair]
        else { return false }
        let id = STUNTransactionID(using: &random)
        let priority = Self.reflexivePriority(of: pair.localCandidate)
        let datagram = checkRequest(
            id, from: credential(over: pair.route).fragment, to: peer, priority: priority, nominates: check.nominates)
        session.transactions.begin(
            id, .check(check), route: pair.route, datagram: datagram, role: role, priority: priority,
            patience: patience(for: check, over: pair.localCandidate.transport), at: now)
        counters.requestsSent += 1
        outputs.append(.send(datagram, from: pair.route.base, to: pair.route.remote))
        return true
    }

    private func patience(for check: Checklist.Check, over transport: ICECandidate.Transport)
        -> STUNTransactions.Patience
    {
        if transport == .tcp {
            // RFC 8489 §6.2.2. A connection that cannot be made is told much sooner.
            return .init(
                rto: configuration.minimumRTO, longestInterval: configuration.minimumRTO, sends: 1,
                finalWaitInRTOs: 80, isReliable: true)
        }
        if check.nominates {
            // The pair works, so silence is loss: ask often, and long enough that loss is not taken for failure.
            return .init(
                rto: configuration.minimumRTO, longestInterval: configuration.minimumRTO * 2,
                sends: configuration.maximumSends * 3, finalWaitInRTOs: 4)
        }
        // RFC 8445 §14.3: with many pairs, each one's retransmission has to leave room for the others.
        let load = configuration.checkInterval * Int64(session.checklist.activeCount)
        let rto = max(configuration.minimumRTO, load)
        return .init(
            rto: rto, longestInterval: max(rto, configuration.maximumRTO), sends: configuration.maximumSends)
    }

    /// RFC 8445 §7.1.1: the priority that a candidate discovered by this check would have.
    static func reflexivePriority(of local: ICECandidate) -> UInt32 {
        var reflexive = local
        reflexive.type = .peerReflexive
        return UInt32(reflexive.typePreference) << 24 | local.priority & 0x00ff_ffff
    }

    /// A Binding request under the peer's credential (RFC 8445 §7.1, §7.2.2).
    func checkRequest(
        _ id: STUNTransactionID, from localFragment: String, to peer: ICERemotePeer, priority: UInt32,
        nominates: Bool
    ) -> [UInt8] {
        var request = STUNMessage(.request, transactionID: id)
        request.attributes = [
            .username("\(peer.parameters.usernameFragment):\(localFragment)"),
            .priority(priority),
        ]
        switch role {
        case .controlling: request.attributes.append(.iceControlling(tieBreaker: tieBreaker))
        case .controlled: request.attributes.append(.iceControlled(tieBreaker: tieBreaker))
        }
        if nominates { request.attributes.append(.useCandidate) }
        return request.encoded(key: peer.key)
    }

    /// Sends again what has not been answered, and draws the conclusion when that is over.
    mutating func retransmit(at now: Instant) {
        while let due = session.transactions.popDue(at: now) {
            switch due {
            case .resend(let transaction):
                outputs.append(
                    .send(transaction.datagram, from: transaction.route.base, to: transaction.route.remote))
            case .expired(let transaction):
                switch transaction.purpose {
                case .check(let check): fail(check)
                case .gather(let index):
                    if let server = session.gatherer.gaveUp(index) { outputs.append(.serverSilent(server)) }
                }
            }
        }
    }

    /// RFC 8445 §7.2.5.2: the pair is no use. A lost nomination is made again with another pair.
    mutating func fail(_ check: Checklist.Check) {
        session.checklist.fail(check.pair)
        session.nomination.pairFailed(check.pair)
    }
}
