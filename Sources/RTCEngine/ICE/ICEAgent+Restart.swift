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
        if let path, path.generation == session.generation, path.consent.isFresh { shelved = session }
        beginGeneration(local: local, after: session.credential)
        announcedGathering = .new
        for (index, base) in bases.enumerated() { gather(from: base, index: index, at: now) }
        tellTCPHosts(at: now)
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

    /// The peer's half that is kept aside (`setRemote`) counts from now on, with our own as it is: an answer has
    /// brought it to an offer that restarts nothing. By RFC 8839 §4.4.1.1.1 both halves change, and RFC 8829 §5.10
    /// makes such an answer an error; but a peer that sends one has left the credential before, and who asks for that
    /// is asked until consent ends. The selected pair carries media, as in any restart, until another one is selected.
    public mutating func followRemote(at now: Instant) {
        guard connectionState != .closed, let staged else { return }
        self.staged = nil
        let former = session
        beginGeneration(local: former.local, after: former.retired)
        session.goOn(from: former)
        // An answer is not taken back.
        shelved = nil
        session.trickle = staged.trickle
        meet(staged.peer, at: now)
        advance(at: now)
    }

    /// A session without a peer; what carried media under the one before does so for as long as it answers.
    private mutating func beginGeneration(local: ICEParameters, after retired: LocalCredential?) {
        if let path, path.generation == session.generation {
            if !path.consent.isFresh { self.path = nil }
            noteRoute()
        }
        knownRemoteAddresses.beginGeneration()
        generations += 1
        session = ICESession(generation: generations, local: local, after: retired, configuration: configuration)
        // W3C RTCIceTransportState: a restart takes completed back to connected, and forgets a lost connection.
        switch connectionState {
        case .completed: move(to: .connected, because: "a restart looks for another pair")
        case .disconnected, .failed: move(to: .checking, because: "a restart looks for a pair anew")
        case .new, .checking, .connected, .closed: break
        }
    }

    private mutating func takeBackRestart(_ former: ICESession, at now: Instant) {
        session = former
        shelved = nil
        for remote in session.remotes { knownRemoteAddresses.learn(remote.address) }
        // The descriptions that follow show this generation's candidates again, and those that have come since. Where
        // gathering stands is told after all of them.
        for candidate in localCandidates { outputs.append(.localCandidate(candidate)) }
        announcedGathering = session.gatherer.state
        for (index, base) in bases.enumerated() where !session.locals.contains(where: { $0.base == base }) {
            gather(from: base, index: index, at: now)
        }
        tellTCPHosts(at: now)
        tellRelays(at: now)
        if basesComplete { session.gatherer.basesComplete() }
        announcedGathering = .new
        noteGathering()
        moveToConnected(because: "a restart was taken back and the pair before it is in use")
        advance(at: now)
    }

    // MARK: A peer that goes on using the credential before

    /// By what the peer names us over `route`, and is to be asked there.
    func credential(over route: ICERoute) -> LocalCredential {
        guard let retired = session.retired, session.retiredRoutes.contains(route) else { return session.credential }
        return retired
    }

    /// So many are remembered: a peer has few addresses at a time.
    private static let maximumRetiredRoutes = 8

    /// The peer of the present generation has named us over `route`. Our addresses are the same after a restart, and
    /// libwebrtc checks them from its new ports before it knows our new credential: a pair that works by then is kept
    /// with the old credential for as long as it lives, and whatever else is asked over it is refused.
    mutating func note(_ credential: LocalCredential, over route: ICERoute) {
        let isRetired = credential.fragment != session.credential.fragment
        guard session.retiredRoutes.contains(route) != isRetired else { return }
        if isRetired {
            if session.retiredRoutes.count == Self.maximumRetiredRoutes { session.retiredRoutes.removeFirst() }
            session.retiredRoutes.append(route)
        } else {
            session.retiredRoutes.removeAll { $0 == route }
        }
        if path?.route == route, path?.generation == session.generation { path?.local = credential }
    }
}
