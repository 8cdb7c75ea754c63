internal import RTCWire

extension ICEAgent {
    /// A fresh credential for an offer with `iceRestart`. Nothing changes until `restart(local:at:)`.
    public mutating func makeRestartParameters() -> ICEParameters { ICEParameters(using: &random) }

    /// Begins a new generation with our credential `local` (RFC 8445 §9): gathers again from the same sockets and
    /// awaits the peer's new half, or takes it if it came first. The selected pair carries media, under the old
    /// credential, until another one is selected.
    ///
    /// A restart that is taken back, because its offer was, returns to the generation before: a peer that never heard
    /// of the restart nominates nothing again.
    public mutating func restart(local: ICEParameters, at now: Instant) {
        guard connectionState != .closed, local != session.local else { return }
        if let shelved, shelved.local == local, path?.generation == shelved.generation {
            return takeBackRestart(shelved, at: now)
        }
        if let path, path.generation == session.generation {
            retired = RetiredCredential(fragment: session.local.usernameFragment, key: session.localKey)
            if path.consent.isFresh { shelved = session } else { self.path = nil }
            noteRoute()
        }
        acquaintances.beginGeneration()
        generations += 1
        session = ICESession(generation: generations, local: local, configuration: configuration)
        // W3C RTCIceTransportState: a restart takes completed back to connected, and forgets a lost connection.
        switch connectionState {
        case .completed: move(to: .connected, because: "a restart gathers candidates anew")
        case .disconnected, .failed: move(to: .checking, because: "a restart looks for a pair anew")
        case .new, .checking, .connected, .closed: break
        }
        announcedGathering = .new
        for (index, base) in bases.enumerated() { gather(from: base, index: index, at: now) }
        tellStreamHosts(at: now)
        tellRelays(at: now)
        if basesComplete {
            session.gatherer.basesComplete()
            noteGathering()
        }
        if let staged {
            self.staged = nil
            session.trickle = staged.trickle
            meet(staged.peer, at: now)
        }
        advance(at: now)
    }

    private mutating func takeBackRestart(_ former: ICESession, at now: Instant) {
        session = former
        shelved = nil
        retired = nil
        for remote in session.remotes { acquaintances.learn(remote.address) }
        // The descriptions that follow show this generation's candidates again.
        for candidate in localCandidates { outputs.append(.localCandidate(candidate)) }
        announcedGathering = .new
        noteGathering()
        moveToConnected(because: "a restart was taken back and the pair before it is in use")
        advance(at: now)
    }
}
