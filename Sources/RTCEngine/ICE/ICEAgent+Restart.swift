internal import RTCWire

extension ICEAgent {
    /// A fresh credential for an offer with `iceRestart`. Nothing changes until `restart(local:at:)`.
    public mutating func makeRestartParameters() -> ICEParameters { ICEParameters(using: &random) }

    /// Begins a new generation with our credential `local` (RFC 8445 §9): gathers again from the same sockets and
    /// awaits the peer's new half, or takes it if it came first. The selected pair carries media, under the old
    /// credential, until another one is selected.
    public mutating func restart(local: ICEParameters, at now: Instant) {
        guard connectionState != .closed, local != session.local else { return }
        if let path, path.generation == session.generation {
            retired = RetiredCredential(fragment: session.local.usernameFragment, key: session.localKey)
            if !path.consent.isFresh { self.path = nil }
            noteRoute()
        }
        session = ICESession(generation: session.generation + 1, local: local, configuration: configuration)
        // W3C RTCIceTransportState: a restart takes completed back to connected, and forgets a lost connection.
        switch connectionState {
        case .completed: move(to: .connected, because: "a restart gathers candidates anew")
        case .disconnected, .failed: move(to: .checking, because: "a restart looks for a pair anew")
        case .new, .checking, .connected, .closed: break
        }
        announcedGathering = .new
        for (index, base) in bases.enumerated() { gather(from: base, index: index, at: now) }
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
}
