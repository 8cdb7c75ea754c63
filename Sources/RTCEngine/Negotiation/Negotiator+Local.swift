public import RTCWire

extension Negotiator {
    /// Puts a description of ours in force (RFC 8829 §5.9).
    ///
    /// - Parameter description: what `createOffer` or `createAnswer` gave last, unchanged; nil for just that.
    public mutating func setLocal(
        _ type: SDPType, _ description: SessionDescription? = nil
    ) throws(NegotiationError) -> [NegotiationAction] {
        try change { next throws(NegotiationError) in
            switch type {
            case .offer: try next.setLocalOffer(description)
            case .pranswer: try next.setLocalAnswer(description, isFinal: false)
            case .answer: try next.setLocalAnswer(description, isFinal: true)
            case .rollback: try next.rollBack(.local)
            }
        }
    }

    private mutating func setLocalOffer(_ description: SessionDescription?) throws(NegotiationError) {
        switch signalingState {
        case .stable, .haveLocalOffer: break
        case .closed: throw .closed
        case .haveRemoteOffer, .haveLocalPranswer, .haveRemotePranswer:
            throw .wrongState(signalingState, .offer, .local)
        }
        let created = try takeCreated(.offer, matching: description)
        rememberStable()
        var offer = created.typed.sdp
        for (index, section) in created.plan.enumerated() {
            if case .data(let mid) = section {
                mids.reserve(mid)
                data.association.mid = mid
                data.association.mLineIndex = index
            }
            guard case .transceiver(let id, let mid) = section else { continue }
            mids.reserve(mid)
            guard let place = transceivers.firstIndex(where: { $0.id == id }) else { continue }
            transceivers[place].association.mid = mid
            transceivers[place].association.mLineIndex = index
            if offer.media.indices.contains(index) { prepareToReceive(place, offered: offer.media[index]) }
        }
        if transport.iceRole == nil, let ice = offer.iceParameters {
            // RFC 8445 §6.1.1: the agent that began controls, unless it is lite.
            transport.iceRole = configuration.isICELite ? .controlled : .controlling
            transport.localICE = ice
        } else if let ice = offer.iceParameters, ice != transport.localICE {
            transport.localICE = ice
            // The peer's half of the new generation comes with its answer.
            transport.remoteICE = nil
            transport.remoteCandidates = []
            transport.isRemoteComplete = false
        }
        localCandidates.complete(&offer, section: transport.section)
        pendingLocalDescription = TypedDescription(type: .offer, sdp: offer)
        signalingState = .haveLocalOffer
    }

    /// RFC 8829 §5.9: once our offer is out, media may come before the answer does. Before the first answer it could
    /// not be decrypted, so only a later offer makes ready for it.
    private mutating func prepareToReceive(_ place: Int, offered: MediaDescription) {
        guard transport.dtls != nil, transceivers[place].association.currentDirection == nil,
            transceivers[place].direction.receives, let mid = transceivers[place].mid
        else { return }
        var extensions: [String: UInt8] = [:]
        for map in offered.all(SDP.ExtensionMap.self) { extensions[map.uri] = UInt8(exactly: map.id) }
        transceivers[place].association.receiving = ReceiveParameters(
            mid: mid, codecs: offered.codecs, sources: nil, extensions: extensions)
    }

    private mutating func setLocalAnswer(
        _ description: SessionDescription?, isFinal: Bool
    ) throws(NegotiationError) {
        let type: SDPType = isFinal ? .answer : .pranswer
        switch signalingState {
        case .haveRemoteOffer, .haveLocalPranswer: break
        case .closed: throw .closed
        case .stable, .haveLocalOffer, .haveRemotePranswer: throw .wrongState(signalingState, type, .local)
        }
        guard let offer = pendingRemoteDescription?.sdp else { throw .noRemoteDescription }
        var answer = try takeCreated(.answer, matching: description).typed.sdp
        let tagged = answer.taggedSection
        localCandidates.complete(&answer, section: tagged)
        try agree(local: answer, remote: offer, isAnswerLocal: true, isFinal: isFinal)
        if isFinal {
            currentLocalDescription = TypedDescription(type: .answer, sdp: answer)
            currentRemoteDescription = pendingRemoteDescription
            becomeStable()
        } else {
            pendingLocalDescription = TypedDescription(type: .pranswer, sdp: answer)
            signalingState = .haveLocalPranswer
        }
    }

    /// W3C WebRTC §4.4.1.5: a local description has to be the one created last. A provisional answer may be set again
    /// as the final one, so nothing is used up here.
    private func takeCreated(
        _ type: SDPType, matching description: SessionDescription?
    ) throws(NegotiationError) -> CreatedDescription {
        guard let created, created.typed.type == type else { throw .nothingCreated }
        if let description, description != created.typed.sdp { throw .modifiedDescription }
        return created
    }
}
