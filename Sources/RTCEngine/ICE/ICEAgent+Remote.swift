public import RTCWire

extension ICEAgent {
    /// The peer's credential, from its description. The first one begins the checks. A different one later is the
    /// peer's restart: it is kept aside, with the candidates that follow it, until `restart(local:at:)` gives our
    /// own half, or `followRemote(at:)` says that this stays; until then the present pair goes on.
    public mutating func setRemote(_ parameters: ICEParameters, isLite: Bool, at now: Instant) {
        guard connectionState != .closed else { return }
        if let peer = session.peer {
            if peer.parameters == parameters {
                session.peer?.isLite = isLite
            } else if staged?.peer.parameters != parameters {
                staged = (ICERemotePeer(parameters, isLite: isLite), RemoteTrickle())
            }
        } else {
            meet(ICERemotePeer(parameters, isLite: isLite), at: now)
        }
        advance(at: now)
    }

    /// A candidate of the peer, signalled at any time: before its description, or after the pair is selected. One
    /// that cannot be used (active TCP, a component other than 1, another family or generation) is counted and
    /// otherwise ignored.
    public mutating func addRemoteCandidate(_ candidate: ICECandidate, at now: Instant) {
        guard connectionState != .closed else { return }
        let fragment = candidate.usernameFragment
        if let staged, fragment == nil || fragment == staged.peer.parameters.usernameFragment {
            // RFC 8838 §14: after the end of candidates any further one of that generation is ignored.
            guard staged.trickle.end == .open else { return ignore() }
            guard staged.trickle.candidates.count < configuration.maximumRemoteCandidates else { return ignore() }
            self.staged?.trickle.candidates.append(candidate)
        } else if session.trickle.end == .ended {
            ignore()
        } else if session.peer != nil {
            use(candidate, at: now)
            advance(at: now)
        } else if session.trickle.candidates.count < configuration.maximumRemoteCandidates {
            session.trickle.candidates.append(candidate)
        } else {
            ignore()
        }
    }

    /// The peer has no more candidates (RFC 8838 §14).
    public mutating func endOfRemoteCandidates(at now: Instant) {
        guard connectionState != .closed else { return }
        if staged != nil {
            staged?.trickle.end = .ended
        } else {
            session.trickle.end = .ended
        }
        advance(at: now)
    }

    private mutating func ignore() { counters.remoteCandidatesIgnored += 1 }

    /// The peer of this generation is known: its candidates count, and so do the checks that came too early.
    mutating func meet(_ peer: ICERemotePeer, at now: Instant) {
        session.peer = peer
        session.phase = .checking(since: now, lastPairAt: now)
        if peer.isLite {
            // Both would wait for the other one's checks. RFC 8445 §8.2.2 has them guess; here it is an error.
            guard !configuration.isLite else {
                session.giveUp()
                return move(to: .failed, because: "both agents are lite and neither makes checks")
            }
            // RFC 8445 §6.1.1: a full agent with a lite peer controls.
            switchRole(to: .controlling)
        }
        switch connectionState {
        case .new: move(to: .checking, because: "the peer's credential is known")
        case .checking, .connected, .completed, .disconnected, .failed, .closed: break
        }
        let waiting = session.trickle.candidates
        session.trickle.candidates = []
        for candidate in waiting { use(candidate, at: now) }
        let early = session.earlyChecks
        session.earlyChecks = []
        // RFC 8445 §7.3: as if they came now. Those of another generation were somebody else's.
        for check in early where check.remoteFragment == peer.parameters.usernameFragment {
            acceptCheck(over: check.route, priority: check.priority, usesCandidate: check.usesCandidate, at: now)
        }
    }

    /// Adds a candidate of the present generation and pairs it (RFC 8838 §11).
    private mutating func use(_ candidate: ICECandidate, at now: Instant) {
        if let fragment = candidate.usernameFragment, fragment != session.peer?.parameters.usernameFragment {
            return ignore()
        }
        if case .mdns(let name, _) = candidate.address, RemoteCandidate(usable: candidate, at: .v4(1)) != nil {
            if !awaitName(of: candidate, name) { ignore() }
            return
        }
        guard let remote = RemoteCandidate(usable: candidate, at: candidate.address.transportAddress?.ip) else {
            return ignore()
        }
        use(remote, at: now)
    }

    /// As above, with its address known.
    mutating func use(_ remote: RemoteCandidate, at now: Instant) {
        // A server may have one port number for UDP and for TCP.
        let known = session.remotes.firstIndex {
            $0.address == remote.address && $0.candidate.transport == remote.candidate.transport
        }
        if let known {
            // RFC 8838 §11: what a check had revealed already now has a name. Anything else is redundant.
            guard session.remotes[known].candidate.type == .peerReflexive else { return }
            session.remotes[known] = remote
            session.checklist.replace(remote, role: role)
            if let path, path.generation == session.generation, let pair = session.checklist.pair(over: path.route) {
                self.path?.rename(as: pair)
            }
            return
        }
        guard session.remotes.count < configuration.maximumRemoteCandidates else { return ignore() }
        session.remotes.append(remote)
        knownRemoteAddresses.learn(remote.address)
        guard session.isChecking, !configuration.isLite else { return }
        var isPaired = false
        for host in session.hosts where host.canPair(with: remote) {
            isPaired = true
            pair(host, remote, at: now)
        }
        if !isPaired { ignore() }
    }

    /// Forms a pair if the two can reach each other and there is room.
    mutating func pair(_ local: LocalCandidate, _ remote: RemoteCandidate, at now: Instant) {
        guard local.canPair(with: remote) else { return }
        guard session.checklist.add(local, remote, role: role) != nil else { return }
        notePair(at: now)
    }

    /// A new pair gets the whole time to be checked.
    mutating func notePair(at now: Instant) {
        guard case .checking(let since, _) = session.phase else { return }
        session.phase = .checking(since: since, lastPairAt: now)
    }
}
