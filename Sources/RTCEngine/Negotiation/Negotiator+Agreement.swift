internal import RTCWire

/// What follows from an offer and its answer together.
extension Negotiator {
    /// Applies an answer, ours or the peer's, provisional or final.
    mutating func agree(
        local: SessionDescription, remote: SessionDescription, isAnswerLocal: Bool, isFinal: Bool
    ) throws(NegotiationError) {
        var bundled: [Int] = []
        let namesStreams = isAnswerLocal || remote.namesStreams
        for index in local.media.indices where remote.media.indices.contains(index) {
            let (ours, theirs) = (local.media[index], remote.media[index])
            let place = transceivers.firstIndex { $0.mLineIndex == index }
            if ours.isRejected || theirs.isRejected {
                if let place { reject(place, isFinal: isFinal) }
                if index == data.mLineIndex, isFinal { data.refused() }
                if index == retired?.mLineIndex, isFinal { retired = nil }
                continue
            }
            bundled.append(index)
            if index == data.mLineIndex {
                agreeData(local: ours, remote: theirs)
                continue
            }
            // Only the bundle stands on a section that has no transceiver any more.
            guard let place else { continue }
            let answer =
                isAnswerLocal
                ? local.direction(ofSection: index) : remote.direction(ofSection: index, answering: local).reversed
            transceivers[place].association.currentDirection = TransceiverDirection(answer)
            let isReduced = ours.has(.rtcpReducedSize) && theirs.has(.rtcpReducedSize)
            transceivers[place].association.allowsReducedSizeRTCP = isReduced
            if !isAnswerLocal {
                noteRemoteTrack(place, theirs, answer.reversed, namesStreams: namesStreams)
            } else if !answer.receives {
                // W3C WebRTC §4.4.1.5: what the offer has brought ends with an answer that does not take it.
                transceivers[place].association.receivesTrack = false
            }
            var section = AgreedSection(
                local: ours, remote: theirs, isAnswerLocal: isAnswerLocal, direction: answer,
                allowsMixedExtensions: local.allowsMixedExtensions(in: ours)
                    && remote.allowsMixedExtensions(in: theirs),
                receivesSimulcast: configuration.receivesSimulcast)
            let receiving = section.receiving(transceivers[place])
            transceivers[place].association.receiving = receiving
            if let receiving {
                let named = receiving.layers.filter { $0.sources == nil }
                transceivers[place].association.receivedLayers = named.map(\.rid)
            }
            transceivers[place].association.sending = section.sending(transceivers[place], cname: cname)
            if section.direction.sends { transceivers[place].hasSent = true }
            if isFinal, isRetired(transceivers[place], by: section) {
                retired = transceivers[place]
                reject(place, isFinal: true)
            }
        }
        let tagged = (isAnswerLocal ? local : remote).taggedSection
        if let section = bundled.first(where: { $0 == tagged }) ?? bundled.first {
            try agreeTransport(local: local, remote: remote, section: section, isAnswerLocal: isAnswerLocal)
        }
    }

    /// Whether a transceiver ends though its section is accepted, because the bundle stands on that: stopped, and
    /// offered as inactive; or offered without a codec that we know.
    private func isRetired(_ transceiver: Transceiver, by section: AgreedSection) -> Bool {
        guard section.local.direction == .inactive else { return false }
        if section.isAnswerLocal { return commonCodecs(section.remote.codecs, transceiver).isEmpty }
        return transceiver.phase == .stopping && transceiver.mLineIndex == transport.section
    }

    /// The section is refused by one side; with a final answer, its transceiver has ended (RFC 8829 §5.11).
    private mutating func reject(_ place: Int, isFinal: Bool) {
        transceivers[place].endStreams()
        transceivers[place].association.currentDirection = .inactive
        if isFinal { transceivers[place].phase = .stopped }
    }

    private mutating func agreeTransport(
        local: SessionDescription, remote: SessionDescription, section: Int, isAnswerLocal: Bool
    ) throws(NegotiationError) {
        let peer = try PeerTransport(reading: remote, section: section)
        if transport.iceRole == nil {
            // RFC 8445 §6.1.1: who is lite never controls.
            let controls = !configuration.isICELite && (!isAnswerLocal || peer.ice.isLite)
            transport.iceRole = controls ? .controlling : .controlled
        }
        if let ice = local.iceParameters { transport.localICE = ice }
        // Also where the offer restarts nothing: RFC 8829 §5.10 makes that an error, which would end the call.
        if transport.remoteICE != peer.ice {
            transport.remoteICE = peer.ice
            transport.remoteCandidates = []
            transport.isRemoteComplete = false
        }
        // Candidates of an offer's later sections are for transports that bundling does away with; but a peer whose
        // first section we reject has put its candidates there.
        let isFirstOffer = isAnswerLocal && transport.dtls == nil
        transport.section = section
        for index in remote.media.indices where !isFirstOffer || index <= section {
            let media = remote.media[index]
            let fragment = media.iceUsernameFragment ?? peer.ice.parameters.usernameFragment
            guard fragment == peer.ice.parameters.usernameFragment else { continue }
            for candidate in media.candidates { addToTransport(candidate) }
            if media.has(.endOfCandidates), index <= section { transport.isRemoteComplete = true }
        }
        if remote.has(.endOfCandidates) { transport.isRemoteComplete = true }
        if transport.dtls == nil {
            let localSetup = local.media[section].setup
            transport.dtls = TransportAgreement.DTLS(
                role: Self.role(local: localSetup, remote: peer.setup, isAnswerLocal: isAnswerLocal),
                fingerprints: peer.fingerprints)
        }
    }

    mutating func addToTransport(_ candidate: ICECandidate) {
        guard let remote = transport.remoteICE?.parameters else { return }
        if let fragment = candidate.usernameFragment, fragment != remote.usernameFragment { return }
        guard transport.remoteCandidates.count < SDPLimits.candidates,
            !transport.remoteCandidates.contains(candidate)
        else { return }
        transport.remoteCandidates.append(candidate)
    }

    /// The answer decides who opens the association (RFC 8842 §5.3); one that does not say means `active`.
    private static func role(local: SDP.Setup?, remote: SDP.Setup?, isAnswerLocal: Bool) -> DTLSRole {
        switch isAnswerLocal ? local : remote {
        case .active, .actpass, .holdconn, nil: isAnswerLocal ? .client : .server
        case .passive: isAnswerLocal ? .server : .client
        }
    }

    /// Whether RTCP may go as single packets (RFC 5506 §5). Feedback goes for all of the bundle at once, so all of its
    /// sections that carry media have to have agreed.
    var allowsReducedSizeRTCP: Bool {
        let carrying = transceivers.filter { transceiver in
            transceiver.currentDirection.map { $0.sends || $0.receives } ?? false
        }
        return !carrying.isEmpty && carrying.allSatisfy(\.association.allowsReducedSizeRTCP)
    }

    /// A negotiation is complete.
    mutating func becomeStable() {
        // W3C WebRTC §4.4.1.5: stopped transceivers leave the list; their sections may be used again.
        transceivers.removeAll { $0.phase == .stopped }
        let isStillInUse = credentialsToReplace.contains { $0 == currentLocalDescription?.sdp.iceParameters }
        if !isStillInUse { credentialsToReplace = [] }
        pendingLocalDescription = nil
        pendingRemoteDescription = nil
        stable = nil
        created = nil
        signalingState = .stable
    }
}

/// One section of an offer beside the one of its answer.
private struct AgreedSection {
    var local: MediaDescription
    var remote: MediaDescription
    var isAnswerLocal: Bool
    /// The answer's direction, seen from us.
    var direction: SDP.Direction
    var allowsMixedExtensions: Bool
    var receivesSimulcast: Bool
    /// Read from the lines once for both directions, and not at all for a section in which nothing flows.
    lazy var localCodecs = local.codecs
    lazy var remoteCodecs = remote.codecs

    mutating func receiving(_ transceiver: Transceiver) -> ReceiveParameters? {
        guard direction.receives, transceiver.phase == .active, let mid = transceiver.mid else { return nil }
        let codecs = CodecNegotiation.receiving(
            local: localCodecs, remote: remoteCodecs, isAnswerLocal: isAnswerLocal)
        let extensions = HeaderExtensionNegotiation.agreed(
            local: local, remote: remote, sending: false, allowsMixed: allowsMixedExtensions)
        return ReceiveParameters(
            mid: mid, codecs: codecs, sources: remote.signaledSources, extensions: extensions,
            layers: receivesSimulcast ? receivedLayers : [])
    }

    /// What our answer took, or the peer's sends of what our offer asked for; or the sources of a peer that has the
    /// older form.
    private var receivedLayers: [ReceiveLayer] {
        var wanted = SimulcastNegotiation.wanted(by: local)
        if !isAnswerLocal {
            let sent = SimulcastNegotiation.sent(by: remote)
            wanted.removeAll { !sent.contains($0) }
        }
        guard wanted.isEmpty else { return wanted.map { ReceiveLayer(rid: $0, sources: nil) } }
        return SimulcastNegotiation.groupLayers(of: remote)
    }

    /// Of the layers that our description sends those that the peer's takes (RFC 8853 §5.3.2).
    private func sentLayers(_ transceiver: Transceiver, hasRTX: Bool) -> [SendLayer] {
        let sent = SimulcastNegotiation.sent(by: local)
        let layers = SimulcastNegotiation.wanted(transceiver.layers, by: remote)
        return layers.filter { sent.contains($0.encoding.rid) }.map { layer in
            SendLayer(
                rid: layer.encoding.rid, ssrc: layer.ssrc, rtxSSRC: hasRTX ? layer.rtxSSRC : nil,
                isActive: layer.encoding.isActive)
        }
    }

    mutating func sending(_ transceiver: Transceiver, cname: String) -> SendParameters? {
        guard direction.sends, transceiver.phase == .active, let mid = transceiver.mid else { return nil }
        let codecs = CodecNegotiation.sending(
            local: localCodecs, remote: remoteCodecs, isAnswerLocal: isAnswerLocal)
        guard let codec = codecs.firstMedia ?? codecs.first else { return nil }
        return SendParameters(
            mid: mid, ssrc: transceiver.ssrc, rtxSSRC: codec.rtxPayloadType == nil ? nil : transceiver.rtxSSRC,
            cname: cname, codec: codec, codecs: codecs,
            extensions: HeaderExtensionNegotiation.agreed(
                local: local, remote: remote, sending: true, allowsMixed: allowsMixedExtensions),
            allowsMixedExtensions: allowsMixedExtensions,
            allowsReducedSizeRTCP: local.has(.rtcpReducedSize) && remote.has(.rtcpReducedSize),
            layers: sentLayers(transceiver, hasRTX: codec.rtxPayloadType != nil))
    }
}

extension SessionDescription {
    /// An answer's direction of a section, as far as the offer allows it. RFC 3264 §6.1 forbids to go beyond that, but
    /// older Pions answer `recvonly` with `sendrecv`, and browsers let them.
    func direction(ofSection index: Int, answering offer: SessionDescription) -> SDP.Direction {
        direction(ofSection: index).intersection(offer.direction(ofSection: index).reversed)
    }

    /// Whether header extensions of both forms may go in a section (RFC 8285 §6): by the section, or by the session.
    func allowsMixedExtensions(in section: MediaDescription) -> Bool {
        has(.extmapAllowMixed) || section.has(.extmapAllowMixed)
    }
}

extension MediaDescription {
    /// The first source of a section, and its retransmissions' one (RFC 5576 §4.2).
    var signaledSources: SignaledSources? {
        let attributes = all(SDP.SourceAttribute.self)
        let groups = all(SDP.SourceGroup.self)
        let pairs = groups.filter { $0.semantics == "FID" && $0.ssrcs.count == 2 }
        let layered = groups.first { $0.semantics == "SIM" }?.ssrcs.first
        guard let primary = layered ?? pairs.first?.ssrcs.first ?? attributes.first?.ssrc else { return nil }
        let cname = attributes.first { $0.ssrc == primary && $0.attribute == "cname" }?.value
        return SignaledSources(
            primary: primary, rtx: pairs.first { $0.ssrcs.first == primary }?.ssrcs.last, cname: cname)
    }
}
