internal import RTCWire

/// What the peer asks of us: connectivity checks and consent checks (RFC 8445 §7.3).
extension ICEAgent {
    mutating func receiveRequest(
        _ request: STUNMessage, _ datagram: RawSpan, over route: ICERoute, at now: Instant
    ) {
        counters.requestsReceived += 1
        // RFC 8445 §7.3: every check ends with FINGERPRINT. Without it this may not even be STUN.
        guard request.hasFingerprint else {
            counters.datagramsIgnored += 1
            return
        }
        // RFC 8489 §9.1.3: no credential at all is a bad request.
        guard let username = request.username, request.integrityOffset != nil else {
            counters.datagramsIgnored += 1
            return refuseStranger(request, .badRequest, over: route, at: now)
        }
        // RFC 8445 §7.2.2: ours first, then the peer's.
        let fragments = username.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard fragments.count == 2, let credential = credential(named: fragments[0]),
            request.isAuthentic(in: datagram, key: credential.key)
        else {
            // RFC 8489 §9.1.3: an unknown name or a wrong code; without a key we cannot sign the answer.
            counters.datagramsIgnored += 1
            return refuseStranger(request, .unauthenticated, over: route, at: now)
        }
        // RFC 8489 §6.3.1: only now that the sender is known.
        let unknown = request.unknownRequiredAttributes
        guard unknown.isEmpty else {
            return refuse(request, .unknownAttribute, naming: unknown, key: credential.key, over: route)
        }
        guard let priority = request.priority ?? presumedPriority else {
            return refuse(request, .badRequest, key: credential.key, over: route)
        }
        knownRemoteAddresses.learn(route.remote)

        let isOfPresentPeer = session.peer.map { fragments[1] == $0.parameters.usernameFragment } ?? false
        let isPresent = credential.fragment == session.credential.fragment
        // Ours stays where the peer alone restarts (`followRemote`).
        let isOfFormerPeer =
            session.peer != nil && !isOfPresentPeer
            && path.map {
                $0.generation != session.generation && fragments[1] == $0.peer.parameters.usernameFragment
            } == true
        guard
            isPresent && !isOfFormerPeer || isOfPresentPeer && credential.fragment == session.retired?.fragment
        else {
            // The peer has not moved to the new pair yet: it keeps its consent, and nothing else comes of it.
            confirm(request, key: credential.key, over: route)
            return noteHeard(over: route, at: now)
        }
        guard mayUse(route.base) else {
            // It came over the pair that a restart is to leave.
            counters.datagramsIgnored += 1
            return
        }
        guard session.phase != .failed else {
            // Having given up we send nothing; an answer would let the peer believe in a pair that only it uses.
            counters.datagramsIgnored += 1
            return
        }
        guard settleRoles(request) else { return refuse(request, .roleConflict, key: credential.key, over: route) }
        confirm(request, key: credential.key, over: route)
        noteHeard(over: route, at: now)
        if isOfPresentPeer { note(credential, over: route) }
        let check = EarlyCheck(
            route: route, priority: priority, usesCandidate: request.usesCandidate,
            remoteFragment: String(fragments[1]))
        act(on: check, at: now)
    }

    /// RFC 8445 §7.1.1: a check says the priority that a candidate learnt from it would have. Older WHIP clients of
    /// FFmpeg leave it out; where this agent is lite, nothing is decided by it.
    private var presumedPriority: UInt32? {
        configuration.isLite ? ICECandidate.priority(of: .peerReflexive, localPreference: .max) : nil
    }

    /// Ours that a check may name; after two restarts the path in use may still have that of the first.
    private func credential(named fragment: Substring) -> LocalCredential? {
        [session.credential, session.retired, path?.local].lazy.compactMap(\.self).first { $0.fragment == fragment }
    }

    private mutating func noteHeard(over route: ICERoute, at now: Instant) {
        guard path?.route == route else { return }
        path?.heardAt = now
        if configuration.isLite { consentHeard(at: now) }
    }

    // MARK: Answers

    /// RFC 8445 §7.3.1.2: the success response says where the request came from.
    private mutating func confirm(_ request: STUNMessage, key: HMACSHA1, over route: ICERoute) {
        let response = STUNMessage(
            .success, transactionID: request.transactionID, attributes: [.xorMappedAddress(route.remote)])
        counters.responsesSent += 1
        outputs.append(.send(response.encoded(key: key), from: route.base, to: route.remote))
    }

    /// Of who has not proven to be the peer, and may not even be where the request says.
    private mutating func refuseStranger(
        _ request: STUNMessage, _ error: STUNErrorCode, over route: ICERoute, at now: Instant
    ) {
        guard refusals.take(at: now) else { return }
        refuse(request, error, key: nil, over: route)
    }

    private mutating func refuse(
        _ request: STUNMessage, _ error: STUNErrorCode, naming unknown: [UInt16] = [], key: HMACSHA1?,
        over route: ICERoute
    ) {
        var attributes: [STUNAttribute] = [.errorCode(error)]
        if !unknown.isEmpty { attributes.append(.unknownAttributes(unknown)) }
        let response = STUNMessage(.error, transactionID: request.transactionID, attributes: attributes)
        counters.responsesSent += 1
        outputs.append(.send(response.encoded(key: key), from: route.base, to: route.remote))
    }

    // MARK: Roles

    /// RFC 8445 §7.3.1.1: when both sides claim one role, the greater tie-breaker keeps its own. False when it is
    /// the peer that has to change: it is told by a 487.
    private mutating func settleRoles(_ request: STUNMessage) -> Bool {
        // RFC 8445 §6.1.1: a lite agent is controlled, whatever the tie-breakers say.
        if configuration.isLite { return request.controlledTieBreaker == nil }
        // A request without either attribute takes no side.
        switch role {
        case .controlling:
            guard let theirs = request.controllingTieBreaker else { return true }
            guard tieBreaker < theirs else { return false }
            switchRole(to: .controlled)
        case .controlled:
            guard let theirs = request.controlledTieBreaker else { return true }
            guard tieBreaker >= theirs else { return false }
            switchRole(to: .controlling)
        }
        return true
    }

    // MARK: What a check means for us

    private mutating func act(on check: EarlyCheck, at now: Instant) {
        guard let peer = session.peer, check.remoteFragment == peer.parameters.usernameFragment else {
            // The peer's description is still on its way: its first one, or the answer that brings another credential.
            guard session.earlyChecks.count < configuration.maximumEarlyChecks,
                !session.earlyChecks.contains(check)
            else { return }
            session.earlyChecks.append(check)
            return
        }
        acceptCheck(over: check.route, priority: check.priority, usesCandidate: check.usesCandidate, at: now)
    }

    /// RFC 8445 §7.3.1.3 to §7.3.1.5: learn the candidate, check the same way back, note the nomination.
    mutating func acceptCheck(over route: ICERoute, priority: UInt32, usesCandidate: Bool, at now: Instant) {
        let isNominated = usesCandidate && role == .controlled
        if configuration.isLite { return acceptLiteCheck(over: route, priority, isNominated: isNominated, at: now) }
        switch session.phase {
        case .awaitingPeer, .failed: return
        case .checking: break
        // Nothing more is looked for, unless the peer changes its mind.
        case .settled: guard isNominated || reopens(for: route, at: now) else { return }
        }
        guard let pair = session.checklist.pair(over: route) ?? formPair(over: route, priority: priority, at: now)
        else { return }
        if isNominated {
            session.checklist.update(pair.id) {
                // One that was selected before, and is checked anew, is nominated by that check's answer once more.
                if $0.nomination == .none || $0.state != .succeeded { $0.nomination = .wantedByPeer }
                $0.wantedAt = now
            }
        }
        switch pair.state {
        case .succeeded:
            if isNominated { followNomination(of: pair, at: now) }
        case .inProgress:
            // §7.3.1.4: the way is open now; do not wait for the retransmission.
            session.transactions.cancelChecks(of: pair.id)
            session.checklist.trigger(pair.id)
        case .waiting, .frozen, .failed:
            session.checklist.trigger(pair.id)
        }
    }

    /// A pair for an address that was not signalled, or not signalled yet (RFC 8445 §7.3.1.3).
    mutating func formPair(over route: ICERoute, priority: UInt32, at now: Instant) -> CandidatePair? {
        guard let local = session.hosts.first(where: { $0.base == route.base }) else { return nil }
        let remote: RemoteCandidate
        let transport = local.candidate.transport
        let known = session.remotes.first { $0.address == route.remote && $0.candidate.transport == transport }
        if let known {
            remote = known
        } else {
            guard session.remotes.count < configuration.maximumRemoteCandidates || forgetOldRemote() else { return nil }
            // A foundation of its own, different from all others.
            let candidate = ICECandidate(
                foundation: "prflx\(session.reflexiveRemotes)", transport: transport, priority: priority,
                address: .ip(route.remote), type: .peerReflexive, tcpType: transport == .tcp ? .active : nil)
            remote = RemoteCandidate(candidate: candidate, address: route.remote)
            session.remotes.append(remote)
            session.reflexiveRemotes += 1
        }
        guard let id = session.checklist.add(local, remote, role: role, isAsked: true) else { return nil }
        notePair(at: now)
        return session.checklist[id]
    }

    /// Makes room for an address of a peer that moves often: the oldest that it was found at, and is no more.
    private mutating func forgetOldRemote() -> Bool {
        let oldest = session.remotes.firstIndex { remote in
            remote.candidate.type == .peerReflexive
                && !session.checklist.pairs.contains { $0.route.remote == remote.address }
        }
        guard let oldest else { return false }
        session.remotes.remove(at: oldest)
        return true
    }
}
