internal import RTCWire

/// What time brings. Every public call ends here, so that a fact and its consequences share one instant.
extension ICEAgent {
    mutating func advance(at now: Instant) {
        retransmit(at: now)
        refreshBindings(at: now)
        considerNomination(at: now)
        remindPeer(at: now)
        leaveFailedPair(at: now)
        sendNext(at: now)
        keepConsent(at: now)
        followMove(at: now)
        giveUp(at: now)
        if session.gatherer.finishes(at: now) { noteGathering() }
        completeIfDone()
    }

    /// When `tick` is next wanted; nil when nothing is pending, as before the first base and after the end. Owners ask
    /// after all that they do, so it is `mutating`: it looks at the agent where it lies, and not at a copy of its
    /// kilobytes.
    public var nextWake: Instant? {
        mutating get {
            guard connectionState != .closed else { return nil }
            var wake: Instant?
            func consider(_ instant: Instant?) {
                guard let instant else { return }
                wake = min(wake ?? instant, instant)
            }
            consider(session.transactions.nextDeadline)
            consider(session.gatherer.nextWake)
            if hasTransactionWaiting { consider(nextTransactionAt) }
            if session.isChecking {
                if role == .controlling { consider(session.nomination.nextWake) }
                consider(hopelessAt)
                consider(remindAt)
            }
            if role == .controlled, !configuration.isLite { consider(moveAt) }
            consider(path.inPlace { $0.consent.nextWake })
            switch connectionState {
            case .connected, .completed: consider(path.inPlace { $0.consent.silentAt })
            case .new, .checking, .disconnected, .failed, .closed: break
            }
            return wake
        }
    }

    /// When the search is given up if nothing changes.
    private var hopelessAt: Instant? {
        guard case .checking(let since, let lastPairAt) = session.phase else { return nil }
        // A pair works, and who is to nominate it may not even have our answer: how long that takes is the peer's
        // affair.
        if isProvisional, role == .controlled, path?.consent.isFresh == true { return nil }
        let limit = lastPairAt + configuration.checksTimeout
        // A lite agent can only wait: how long the peer's checks take is the peer's affair.
        if configuration.isLite { return limit }
        // RFC 8838 §8: while candidates may still come, a failed list is not the end.
        let mayGrow =
            session.trickle.end == .open || session.gatherer.state != .complete || !session.unresolved.isEmpty
        if mayGrow || session.checklist.isWorking || !session.checklist.valid.isEmpty { return limit }
        // RFC 8863 §4: nor before the peer's own checks have had their time.
        return min(limit, since + configuration.patience)
    }

    private mutating func giveUp(at now: Instant) {
        guard let hopelessAt, hopelessAt <= now else { return }
        if isSettled { return settleAgain() }
        session.giveUp()
        // A pair that worked for a while, and that nobody nominated, is given up with the rest.
        if isProvisional {
            path = nil
            noteRoute()
        }
        if path == nil {
            move(to: .failed, because: "no pair of candidates works")
        } else {
            // A restart that finds nothing leaves the old pair in use for as long as it answers.
            moveToConnected(because: "a restart found no pair and the old one still has consent")
        }
    }
}
