public import RTCWire

/// What a description changes: W3C's commands go to the negotiator, and what it asks for is done here.
extension PeerMachine {
    // MARK: Transceivers

    public mutating func addTransceiver(
        _ kind: MediaKind, direction: TransceiverDirection, streamIDs: [String], trackID: String? = nil,
        encodings: [SendEncoding] = []
    ) throws(PeerError) -> TransceiverID {
        try negotiating { negotiator throws(NegotiationError) in
            try negotiator.addTransceiver(
                kind, direction: direction, streamIDs: streamIDs, trackID: trackID, encodings: encodings)
        }
    }

    /// Which codecs of the configuration the next negotiation uses, and in which order; empty for all, the one in use
    /// first (W3C: setCodecPreferences).
    public mutating func setCodecPreferences(
        _ codecs: [CodecParameters], of id: TransceiverID
    ) throws(PeerError) {
        try negotiating { negotiator throws(NegotiationError) in try negotiator.setCodecPreferences(codecs, of: id) }
    }

    /// The media streams that our track belongs to from the next negotiation on (W3C: setStreams).
    public mutating func setStreams(
        _ streamIDs: [String], trackID: String? = nil, of id: TransceiverID
    ) throws(PeerError) {
        try negotiating { negotiator throws(NegotiationError) in
            try negotiator.setStreams(streamIDs, trackID: trackID, of: id)
        }
    }

    /// Gives a transceiver that has sent before to another track: it sends with new sources from the next negotiation
    /// on.
    public mutating func renewSources(of id: TransceiverID) throws(PeerError) {
        try negotiating { negotiator throws(NegotiationError) in try negotiator.renewSources(of: id) }
    }

    /// A track to send, on a transceiver that an offer of the peer's may take over (W3C: addTrack).
    public mutating func addTrack(_ kind: MediaKind, streamIDs: [String]) throws(PeerError) -> TransceiverID {
        try negotiating { negotiator throws(NegotiationError) in
            try negotiator.addTrack(kind, streamIDs: streamIDs)
        }
    }

    public mutating func setDirection(
        _ direction: TransceiverDirection, of id: TransceiverID, at now: Instant
    ) throws(PeerError) {
        let actions = try negotiating { negotiator throws(NegotiationError) in
            try negotiator.setDirection(direction, of: id)
        }
        perform(actions, at: now)
    }

    /// All transceivers that have not ended.
    public var transceivers: [Transceiver] { negotiator.transceivers }

    // MARK: Descriptions

    /// Our description in force or under negotiation, with the candidates so far; nil before the first.
    public var localDescription: TypedDescription? { negotiator.localDescription }
    /// The peer's; nil before the first.
    public var remoteDescription: TypedDescription? { negotiator.remoteDescription }

    /// - Parameter iceRestart: gives this offer new credentials (RFC 8829 §4.1.8). Of one that is not set nothing is
    ///   kept; `restartICE` lasts, and so does another transport policy.
    public mutating func createOffer(iceRestart: Bool) throws(PeerError) -> SessionDescription {
        let isWanted = iceRestart && negotiator.transport.localICE != nil
        let isRestart = negotiator.wantsICERestart || ice.awaitsRestart || isWanted
        let parameters = isRestart ? ice.makeRestartParameters() : ice.localParameters
        return try negotiating { negotiator throws(NegotiationError) in try negotiator.createOffer(ice: parameters) }
    }

    public mutating func createAnswer() throws(PeerError) -> SessionDescription {
        let isNew = negotiator.answerNeedsNewICE || negotiator.transport.localICE == nil && ice.awaitsRestart
        let parameters = isNew ? ice.makeRestartParameters() : ice.localParameters
        return try negotiating { negotiator throws(NegotiationError) in try negotiator.createAnswer(ice: parameters) }
    }

    /// - Parameter description: what was created last; nil for a rollback.
    public mutating func setLocalDescription(
        _ type: SDPType, _ description: SessionDescription?, at now: Instant
    ) throws(PeerError) {
        let wasDescribed = negotiator.localDescription != nil
        let actions = try negotiating { negotiator throws(NegotiationError) in
            try negotiator.setLocal(type, description)
        }
        let isRestart = actions.contains { if case .restartICE = $0 { true } else { false } }
        // For the negotiator nothing restarts before there is a description; but the agent may have gathered for one
        // that was taken back.
        if !isRestart, let local = negotiator.transport.localICE, local != ice.localParameters {
            perform(.restartICE(local: local), at: now)
        }
        perform(actions, at: now)
        noteDescribed(before: wasDescribed, at: now)
    }

    /// - Parameter glare: what to do with an offer that comes while ours is out.
    public mutating func setRemoteDescription(
        _ type: SDPType, _ description: SessionDescription?, glare: GlareRule = .refuse, at now: Instant
    ) throws(PeerError) {
        let wasDescribed = negotiator.localDescription != nil
        let actions = try negotiating { negotiator throws(NegotiationError) in
            try negotiator.setRemote(type, description, glare: glare)
        }
        perform(actions, at: now)
        noteDescribed(before: wasDescribed, at: now)
    }

    /// After our first description was rolled back the next one is the first again: its candidates are told, which the
    /// agent may have had for long.
    private mutating func noteDescribed(before wasDescribed: Bool, at now: Instant) {
        let isDescribed = negotiator.localDescription != nil
        if wasDescribed, !isDescribed { wasTakenBack = true }
        guard wasTakenBack, isDescribed else { return }
        wasTakenBack = false
        ice.tellGatheringAgain()
        drainTransport(at: now)
    }

    /// - Parameter attribute: `candidate:…`; empty for the end of candidates.
    public mutating func addICECandidate(
        _ attribute: String, mid: String?, mLineIndex: Int?, usernameFragment: String?, at now: Instant
    ) throws(PeerError) {
        let actions = try negotiating { negotiator throws(NegotiationError) in
            try negotiator.addRemoteCandidate(
                attribute, mid: mid, mLineIndex: mLineIndex, usernameFragment: usernameFragment)
        }
        perform(actions, at: now)
    }

    /// Which candidates are used from the next gathering on (W3C WebRTC §4.4.1.6, `setConfiguration`): the first one,
    /// or that of an ICE restart, which the next offer is (RFC 8829 §5.2.2). The pair in use carries media meanwhile.
    public mutating func setTransportPolicy(_ policy: ICETransportPolicy) throws(PeerError) {
        guard connectionState != .closed else { throw .closed }
        ice.setTransportPolicy(policy)
    }

    /// The next offer asks for new paths.
    public mutating func restartICE() {
        negotiator.restartICE()
        negotiationNotice.changed()
    }

    private mutating func negotiating<Value>(
        _ body: (inout Negotiator) throws(NegotiationError) -> Value
    ) throws(PeerError) -> Value {
        guard connectionState != .closed else { throw .closed }
        defer { negotiationNotice.changed() }
        do {
            return try body(&negotiator)
        } catch {
            throw .negotiation(error)
        }
    }

    // MARK: What they ask for

    private mutating func perform(_ actions: [NegotiationAction], at now: Instant) {
        allowsReducedSizeRTCP = negotiator.allowsReducedSizeRTCP
        for action in actions { perform(action, at: now) }
        noteFeedbackSource()
        drainTransport(at: now)
    }

    private mutating func perform(_ action: NegotiationAction, at now: Instant) {
        switch action {
        case .iceRole(let role):
            ice.setRole(role)
        case .restartICE(let local):
            renewRelays(at: now)
            ice.restart(local: local, at: now)
        case .setRemoteICE(let parameters, let isLite):
            ice.setRemote(parameters, isLite: isLite, at: now)
            // Where our half changes too, it has done so by now.
            ice.followRemote(at: now)
        case .addRemoteCandidate(let candidate):
            ice.addRemoteCandidate(candidate, at: now)
        case .endOfRemoteCandidates:
            ice.endOfRemoteCandidates(at: now)
        case .startDTLS(let role, let fingerprints):
            secure.begin(
                security.makeDTLS(), role: role, fingerprints: fingerprints, needsSRTP: negotiator.hasMedia,
                hasPath: ice.selectedPair != nil, at: now)
            data.roleAgreed(role)
            updateConnectionState(because: "the descriptions are agreed")
        case .configureDataChannels(let agreement):
            data.agree(agreement, at: now)
        case .transceiverAdded:
            return
        case .configureReceiver(let id, let parameters):
            configureReceiver(id, parameters, at: now)
        case .configureSender(let id, let parameters):
            configureSender(id, parameters, at: now)
        case .trackAdded(let id):
            events.append(.trackAdded(id))
        case .trackRemoved(let id):
            events.append(.trackRemoved(id))
        case .transceiverStopped(let id):
            configureReceiver(id, nil, at: now)
            formerReceptions[id] = nil
            endSender(id, at: now)
        case .signalingStateChanged(let state):
            events.append(.signalingStateChanged(state))
        }
    }
}
