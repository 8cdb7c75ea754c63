internal import RTCWire

/// Keeping the selected pair (RFC 7675). These checks are its keepalives too (RFC 8445 §11).
extension ICEAgent {
    mutating func keepConsent(at now: Instant) {
        guard path?.consent.isDue(at: now) == true, let path else { return }
        switch path.consent.action(at: now) {
        case .nothing:
            break
        case .check:
            sendConsentCheck(over: path, at: now)
        case .resend(let datagram):
            self.path?.consent.resent(at: now)
            outputs.append(.send(datagram, from: path.route.base, to: path.route.remote))
        case .expired:
            return consentExpired(at: now)
        }
        guard path.consent.isSilent(at: now) else { return }
        switch connectionState {
        case .connected, .completed: move(to: .disconnected, because: "the selected pair does not answer")
        case .new, .checking, .disconnected, .failed, .closed: break
        }
    }

    /// The controlling side's nominates again, as libwebrtc's does (RFC 8445 §8.1.1 forbids no second time): Firefox
    /// answers the checks that come before our answer to its restart, but forgets which of them nominated.
    private mutating func sendConsentCheck(over path: SelectedPath, at now: Instant) {
        let id = STUNTransactionID(using: &random)
        let nominates = role == .controlling && path.isNominated && path.generation == session.generation
        let datagram = checkRequest(
            id, from: path.local.fragment, to: path.peer,
            priority: Self.reflexivePriority(of: path.selection.localCandidate), nominates: nominates)
        self.path?.consent.checkSent(
            id, datagram: datagram, rto: configuration.minimumRTO, at: now, random: &random)
        counters.requestsSent += 1
        counters.consentRequestsSent += 1
        outputs.append(.send(datagram, from: path.route.base, to: path.route.remote))
    }

    mutating func receiveConsentResponse(
        _ response: STUNMessage, _ datagram: RawSpan, over route: ICERoute, at now: Instant
    ) {
        // RFC 7675 §5.1: only an authenticated success over the same two addresses is consent.
        guard let peer = path?.peer, path?.route == route, response.kind == .success, response.hasFingerprint,
            response.isAuthentic(in: datagram, key: peer.key)
        else {
            counters.datagramsIgnored += 1
            return
        }
        counters.responsesReceived += 1
        path?.heardAt = now
        if let roundTrip = path?.consent.confirmed(by: response.transactionID, at: now) {
            path?.roundTripTime = roundTrip
            counters.totalRoundTripTime = counters.totalRoundTripTime + roundTrip
        }
        switch connectionState {
        case .disconnected: moveToConnected(because: "the selected pair answers again")
        case .new, .checking, .connected, .completed, .failed, .closed: break
        }
    }

    /// RFC 7675 §5.1: nothing may be sent on this pair any more.
    private mutating func consentExpired(at now: Instant) {
        if isSettled {
            path?.consent.expire()
            noteRoute()
            session.giveUp()
            move(to: .failed, because: "consent to send has expired")
            return
        }
        if isProvisional { return leaveProvisionalPair(at: now) }
        // The pair of the generation before: the new one may still find its own.
        path = nil
        noteRoute()
        switch session.phase {
        case .awaitingPeer, .checking:
            move(to: .checking, because: "the old pair's consent has expired during a restart")
        case .settled, .failed:
            move(to: .failed, because: "the old pair's consent has expired and the restart found no pair")
        }
    }
}
