public import RTCEngine
internal import RTCWire

extension PeerConnection {
    /// The description in force or under negotiation on our side, with the candidates gathered so far; nil before the
    /// first.
    public var localDescription: SessionDescriptionInit? {
        machine.localDescription.map { SessionDescriptionInit(type: $0.type, sdp: $0.sdp.text) }
    }

    /// The description in force or under negotiation on the peer's side, with its candidates; nil before the first.
    public var remoteDescription: SessionDescriptionInit? {
        machine.remoteDescription.map { SessionDescriptionInit(type: $0.type, sdp: $0.sdp.text) }
    }

    /// Describes what we would send and receive. Nothing changes until it is set as the local description.
    ///
    /// - Parameter iceRestart: asks for new paths; media goes on over the old one until a new one is found.
    public func createOffer(iceRestart: Bool = false) throws(PeerConnectionError) -> SessionDescriptionInit {
        defer { flush() }
        let sdp = try refusing { () throws(PeerError) in try machine.createOffer(iceRestart: iceRestart) }
        return SessionDescriptionInit(type: .offer, sdp: sdp.text)
    }

    /// Answers the offer that was set as the remote description.
    public func createAnswer() throws(PeerConnectionError) -> SessionDescriptionInit {
        defer { flush() }
        let sdp = try refusing { () throws(PeerError) in try machine.createAnswer() }
        return SessionDescriptionInit(type: .answer, sdp: sdp.text)
    }

    /// Puts a description of ours in force and begins to gather candidates. The first are told (`iceCandidate`) before
    /// it returns: one task should send the description and the candidates, or they overtake it.
    ///
    /// - Parameter description: what `createOffer` or `createAnswer` gave, or its type alone (an empty `sdp`); nil
    ///   makes the one that fits the state, as in perfect negotiation.
    /// - Returns: what is in force now, with the candidates gathered so far: `localDescription` may be another one by
    ///   the time that it is asked for. A rollback returns itself.
    /// - Throws: `.iceServer` before anything has changed. `.noSocket`, `.interfaces` and `.noAddress` leave the
    ///   description in force; the next call tries again to open sockets.
    @discardableResult
    public func setLocalDescription(
        _ description: SessionDescriptionInit? = nil
    ) throws(PeerConnectionError) -> SessionDescriptionInit {
        defer { flushAndEndLostReceivers() }
        let servers = try servers(configuration.iceServers)
        let description = if let description { description } else { try implicitDescription() }
        // W3C WebRTC §4.4.2: without a text it is the one of its type that was created last.
        let sdp = description.sdp.isEmpty ? nil : try parse(description)
        try refusing { () throws(PeerError) in
            try machine.setLocalDescription(description.type, sdp, at: NetworkLoop.now)
        }
        tellChannelIDs()
        // Without a section there is nothing that candidates could be for.
        if description.type != .rollback, machine.localDescription?.sdp.media.isEmpty == false {
            try startGathering(asking: servers)
        }
        return description.type == .rollback ? description : localDescription ?? description
    }

    private func implicitDescription() throws(PeerConnectionError) -> SessionDescriptionInit {
        switch machine.signalingState {
        case .haveRemoteOffer, .haveLocalPranswer: try createAnswer()
        case .stable, .haveLocalOffer, .haveRemotePranswer, .closed: try createOffer()
        }
    }

    /// Takes the peer's description.
    ///
    /// - Parameter glare: what to do with an offer that comes while ours is out. By itself ours makes way, as in W3C's
    ///   setRemoteDescription: in this one step, so that nothing that is done meanwhile comes between, and negotiation
    ///   is said to be needed once the peer's offer is answered. The impolite side of perfect negotiation passes an
    ///   offer over, or has it refused.
    /// - Throws: `NegotiationError.wrongState` where the state takes no such description; nothing has changed then, as
    ///   with all of its refusals.
    public func setRemoteDescription(
        _ description: SessionDescriptionInit, glare: GlareRule = .rollBack
    ) throws(PeerConnectionError) {
        defer { flushAndEndLostReceivers() }
        let sdp = try parse(description)
        try refusing { () throws(PeerError) in
            try machine.setRemoteDescription(description.type, sdp, glare: glare, at: NetworkLoop.now)
        }
        tellChannelIDs()
    }

    /// A rollback carries no description.
    private func parse(_ description: SessionDescriptionInit) throws(PeerConnectionError) -> SessionDescription? {
        guard description.type != .rollback else { return nil }
        do throws(SDPError) {
            return try SessionDescription(parsing: description.sdp)
        } catch {
            throw .peer(.negotiation(.malformed(error)))
        }
    }

    /// Takes a candidate of the peer's; nil or an empty one says that there are no more. One of a kind that cannot be
    /// used here (a host name, or TCP unless it is configured) is left out quietly.
    public func addICECandidate(_ candidate: ICECandidateInit?) throws(PeerConnectionError) {
        defer { flush() }
        try refusing { () throws(PeerError) in
            try machine.addICECandidate(
                candidate?.candidate ?? "", mid: candidate?.sdpMid, mLineIndex: candidate?.sdpMLineIndex,
                usernameFragment: candidate?.usernameFragment, at: NetworkLoop.now)
        }
    }

    /// Makes the next offer an ICE restart, and says that negotiation is needed (W3C: restartIce). With that offer and
    /// its answer both sides look for a path anew, over the sockets that there are; media goes on over the one in use.
    ///
    /// It is what brings a connection back that has failed, whichever side asks for it: `iceConnectionState` goes from
    /// `failed` to `checking` when our description of the restart is set, `connectionState` to `connecting`, and both
    /// to `connected` with the first path. Candidates and checks that come late do not. A connection whose DTLS has
    /// failed cannot be brought back: it takes a new one.
    public func restartICE() {
        machine.restartICE()
        flush()
    }

    /// Gives the engine's refusal the public type.
    func refusing<Value>(_ body: () throws(PeerError) -> Value) throws(PeerConnectionError) -> Value {
        do {
            return try body()
        } catch {
            throw .peer(error)
        }
    }
}
