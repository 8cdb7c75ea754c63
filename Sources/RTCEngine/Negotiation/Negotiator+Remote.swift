public import RTCWire

extension Negotiator {
    /// Takes a description of the peer's (RFC 8829 §5.10).
    ///
    /// - Parameters:
    ///   - description: nil for a rollback only.
    ///   - glare: what to do when an offer comes while ours is out.
    public mutating func setRemote(
        _ type: SDPType, _ description: SessionDescription? = nil, glare: GlareRule = .refuse
    ) throws(NegotiationError) -> [NegotiationAction] {
        try change { next throws(NegotiationError) in
            switch (type, description) {
            case (.rollback, _): try next.rollBack(.remote)
            case (_, nil): throw .nothingCreated
            case (.offer, let sdp?): try next.setRemoteOffer(sdp, glare: glare)
            case (.pranswer, let sdp?): try next.setRemoteAnswer(sdp, isFinal: false)
            case (.answer, let sdp?): try next.setRemoteAnswer(sdp, isFinal: true)
            }
        }
    }

    private mutating func setRemoteOffer(
        _ offer: SessionDescription, glare: GlareRule
    ) throws(NegotiationError) {
        var replaced: [Transceiver] = []
        switch (signalingState, glare) {
        case (.stable, _): break
        // RFC 8829 §3.2: it takes the place of the one that has no answer yet. Of that nothing stays but the
        // transceivers of sections that are in this one too, as their users have set them since.
        case (.haveRemoteOffer, _):
            replaced = transceivers.filter { $0.mLineIndex != nil && stable?.associations[$0.id] == nil }
            try rollBack(.remote)
        case (.haveLocalOffer, .rollBack): try rollBack(.local)
        case (.closed, _): throw .closed
        case (.haveLocalOffer, .refuse), (.haveLocalPranswer, _), (.haveRemotePranswer, _):
            throw .wrongState(signalingState, .offer, .remote)
        }
        try validateOffer(offer)
        rememberStable()
        let namesStreams = offer.namesStreams
        for (index, section) in offer.media.enumerated() {
            // Firefox fills what it rejects with numbers that mean nothing.
            if !section.isRejected {
                payloadTypes.learn(section)
                extensionIDs.learn(section)
            }
            mids.reserve(offer.sectionName(index))
            try associate(section, at: index, of: offer, namesStreams: namesStreams, replaced: replaced)
        }
        created = nil
        // An offer that named them can no longer be set.
        transceivers.removeAll { $0.phase == .stopping && $0.mid == nil }
        pendingRemoteDescription = TypedDescription(type: .offer, sdp: offer)
        signalingState = .haveRemoteOffer
    }

    /// Finds or makes the transceiver of an offered section (RFC 8829 §5.10).
    ///
    /// - Parameter replaced: those that an offer has made or found whose place this one takes, as they were then.
    private mutating func associate(
        _ section: MediaDescription, at index: Int, of offer: SessionDescription, namesStreams: Bool,
        replaced: [Transceiver]
    ) throws(NegotiationError) {
        // The answer rejects what the offer rejects, and ends the transceiver then.
        guard !section.isRejected else { return }
        let name = offer.sectionName(index)
        guard let kind = MediaKind(rawValue: section.kind) else {
            return associateData(section, named: name, at: index)
        }
        let direction = offer.direction(ofSection: index)
        if let retired, retired.mLineIndex == index {
            switch retired.phase {
            // Elsewhere the section would have been rejected and then be free: with a codec in common it begins anew.
            case .active: guard !commonCodecs(section.codecs, retired).isEmpty else { return }
            // The peer was not told that the section has ended, and may go on with what it sent there. Something else
            // that it sends begins anew.
            case .stopping, .stopped:
                guard direction.sends, section.sentTracks.trackID != retired.remoteTrackID else { return }
            }
            self.retired = nil
        }
        let known = transceivers.firstIndex { $0.mLineIndex == index && $0.mid == name }
        let free = transceivers.firstIndex {
            $0.mid == nil && $0.kind == kind && $0.phase == .active && $0.origin == .track && direction.receives
        }
        let former = replaced.first {
            $0.mLineIndex == index && $0.mid == name && $0.kind == kind && $0.phase == .active
        }
        let kept = former.flatMap { former in transceivers.firstIndex { $0.id == former.id } }
        let place: Int
        if let match = known ?? kept.flatMap({ transceivers[$0].mid == nil ? $0 : nil }) {
            place = match
        } else if var former, kept == nil {
            former.association = Transceiver.Association()
            transceivers.append(former)
            place = transceivers.endIndex - 1
        } else if let free {
            place = free
        } else {
            _ = try makeTransceiver(kind, origin: .remoteOffer, direction: .recvonly, streamIDs: [], trackID: nil)
            place = transceivers.endIndex - 1
        }
        transceivers[place].association.mid = name
        transceivers[place].association.mLineIndex = index
        noteRemoteTrack(place, section, direction, namesStreams: namesStreams)
    }

    private mutating func setRemoteAnswer(_ answer: SessionDescription, isFinal: Bool) throws(NegotiationError) {
        let type: SDPType = isFinal ? .answer : .pranswer
        switch signalingState {
        case .haveLocalOffer, .haveRemotePranswer: break
        case .closed: throw .closed
        case .stable, .haveRemoteOffer, .haveLocalPranswer: throw .wrongState(signalingState, type, .remote)
        }
        guard let offer = pendingLocalDescription?.sdp else { throw .nothingCreated }
        try validateAnswer(answer, to: offer)
        for section in answer.media where !section.isRejected {
            payloadTypes.learn(section)
            extensionIDs.learn(section)
        }
        try agree(local: offer, remote: answer, isAnswerLocal: false, isFinal: isFinal)
        if isFinal {
            currentRemoteDescription = TypedDescription(type: .answer, sdp: answer)
            currentLocalDescription = pendingLocalDescription
            becomeStable()
        } else {
            pendingRemoteDescription = TypedDescription(type: .pranswer, sdp: answer)
            signalingState = .haveRemotePranswer
        }
    }

    /// A track is in one stream, or in a few.
    private static let maximumStreams = 64

    /// What the peer sends in a section: whether, in which streams, under which id (W3C WebRTC §5.1.1).
    ///
    /// - Parameter namesStreams: whether the description names a stream anywhere.
    mutating func noteRemoteTrack(
        _ place: Int, _ section: MediaDescription, _ direction: SDP.Direction, namesStreams: Bool
    ) {
        let isSent = direction.sends && !section.isRejected
        transceivers[place].association.receivesTrack = isSent && transceivers[place].phase == .active
        guard isSent else { return }
        let msids = section.sentTracks
        var streams: [String] = []
        for msid in msids where msid.stream != "-" && streams.count < Self.maximumStreams {
            if !streams.contains(msid.stream) { streams.append(msid.stream) }
        }
        // RFC 8830 §4.1: of a peer that knows no streams all tracks are in one.
        if msids.isEmpty, !namesStreams { streams = ["default-\(sessionID)"] }
        transceivers[place].association.remoteStreamIDs = streams
        transceivers[place].association.remoteTrackID = msids.trackID
    }
}

extension SessionDescription {
    /// Whether the peer says of any of its tracks in which streams they are.
    var namesStreams: Bool { media.contains { !$0.sentTracks.isEmpty } }
}

extension MediaDescription {
    /// The streams and the track that a section sends.
    fileprivate var sentTracks: [SDP.MediaStreamID] {
        let msids = all(SDP.MediaStreamID.self)
        guard msids.isEmpty else { return msids }
        // The form of before RFC 8830, which some still write.
        return all(SDP.SourceAttribute.self).filter { $0.attribute == "msid" }
            .compactMap { $0.value.flatMap { SDP.MediaStreamID(attributeValue: $0) } }
    }
}

extension [SDP.MediaStreamID] {
    /// All lines of a section name the same track, or leave it out.
    fileprivate var trackID: String? { compactMap(\.track).first }
}
