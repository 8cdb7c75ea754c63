public import RTCWire

/// What an offer's media section is for.
enum SectionPlan: Sendable, Equatable {
    case transceiver(TransceiverID, mid: String)
    case data(mid: String)
    /// Nobody's any more; it goes on, inactive, since the bundle stands on it.
    case retired
    /// Kept in place, rejected: sections are never removed (RFC 3264 §8).
    case rejected
}

extension Negotiator {
    /// Describes what we would send and receive (RFC 8829 §5.2). Nothing is in force until the offer is set.
    ///
    /// - Parameter ice: the agent's present credential, or a fresh one to restart ICE.
    public mutating func createOffer(ice: ICEParameters) throws(NegotiationError) -> SessionDescription {
        switch signalingState {
        case .stable, .haveLocalOffer: break
        case .closed: throw .closed
        case .haveRemoteOffer, .haveLocalPranswer, .haveRemotePranswer:
            throw .wrongState(signalingState, .offer, .local)
        }
        // Stopped while only an offer that was never set had a section for it.
        transceivers.removeAll { $0.phase == .stopping && $0.mid == nil }
        let plan = planSections()
        var media: [MediaDescription] = []
        for (index, section) in plan.enumerated() {
            switch section {
            case .transceiver(let id, let mid):
                guard let transceiver = transceiver(id) else { throw .unknownTransceiver }
                media.append(offerSection(transceiver, mid: mid, ice: ice))
            case .data(let mid):
                let name = mid.isMadeUp ? nil : mid
                media.append(LocalSection.data(mid: name, setup: .actpass, ice: ice, configuration: configuration))
            case .retired:
                let agreed = currentLocalDescription?.sdp.media[index] ?? knownSection(index)
                media.append(LocalSection.retired(like: agreed, setup: .actpass, ice: ice))
            case .rejected:
                media.append(
                    LocalSection.rejected(
                        like: knownSection(index), setup: .actpass, ice: ice, fingerprint: configuration.fingerprint))
            }
        }
        let offer = makeDescription(.offer, media: media, bundle: offeredBundle(media), allowsMixedExtensions: true)
        created = CreatedDescription(typed: TypedDescription(type: .offer, sdp: offer), plan: plan)
        return offer
    }

    /// RFC 8829 §5.2.2: sections keep their places; one that was rejected is free for a new transceiver;
    /// further transceivers come behind.
    private func planSections() -> [SectionPlan] {
        // Names are taken only when the offer is set, so that an offer that is thrown away costs none.
        var mids = self.mids
        var waiting = transceivers.filter { $0.mid == nil && $0.phase == .active }[...]
        var needsData = needsDataSection
        let counts = [currentLocalDescription, currentRemoteDescription, pendingLocalDescription]
            .map { $0?.sdp.media.count ?? 0 }
        var plan: [SectionPlan] = []
        for index in 0..<(counts.max() ?? 0) {
            let owner = transceivers.first { $0.mLineIndex == index }
            if let owner, let mid = owner.mid {
                plan.append(owner.phase == .active ? .transceiver(owner.id, mid: mid) : .rejected)
            } else if index == data.mLineIndex, let mid = data.mid {
                plan.append(.data(mid: mid))
            } else if isFree(index), let next = waiting.popFirst() {
                plan.append(.transceiver(next.id, mid: mids.make()))
            } else if isFree(index), needsData {
                plan.append(.data(mid: mids.make()))
                needsData = false
            } else {
                plan.append(.rejected)
            }
        }
        if needsData, plan.isEmpty, configuration.dataChannels.isOfferedFirst {
            plan.append(.data(mid: mids.make()))
            needsData = false
        }
        for next in waiting { plan.append(.transceiver(next.id, mid: mids.make())) }
        if needsData { plan.append(.data(mid: mids.make())) }
        // RFC 9143 §7.5 lets an offer choose another section to stand for the bundle. But libwebrtc has named the
        // transport by this one, and ends both together: also where nothing else is left, for something may come.
        if let tagged = transport.section, plan.indices.contains(tagged), plan[tagged] == .rejected,
            isAgreed(tagged) == true
        {
            plan[tagged] = .retired
        }
        return plan
    }

    /// Rejected in either current description, so that its place may be used again (RFC 8829 §5.2.2).
    private func isFree(_ index: Int) -> Bool { isAgreed(index) == false }

    /// Whether both current descriptions accept a section; nil when one of them has not got it.
    private func isAgreed(_ index: Int) -> Bool? {
        guard let local = currentLocalDescription?.sdp.media, let remote = currentRemoteDescription?.sdp.media,
            local.indices.contains(index), remote.indices.contains(index)
        else { return nil }
        return !local[index].isRejected && !remote[index].isRejected
    }

    private func knownSection(_ index: Int) -> MediaDescription {
        for description in [pendingLocalDescription, currentLocalDescription, currentRemoteDescription] {
            if let media = description?.sdp.media, media.indices.contains(index) { return media[index] }
        }
        return MediaDescription(kind: "application", port: 0, proto: "UDP/DTLS/SCTP", formats: ["0"])
    }

    private mutating func offerSection(
        _ transceiver: Transceiver, mid: String, ice: ICEParameters
    ) -> MediaDescription {
        let wanted = transceiver.preferredCodecs ?? offeredOrder(transceiver)
        var codecs: [CodecParameters] = []
        for codec in wanted {
            if let assigned = payloadTypes.assign(codec) { codecs.append(assigned) }
        }
        var extensions: [SDP.ExtensionMap] = []
        // Of any section: an extension has one identifier in all of the bundle, and keeps it.
        let remote = currentRemoteDescription?.sdp
        let peerAllowsMixed = remote?.media.contains { remote?.allowsMixedExtensions(in: $0) == true } == true
        let capabilities = configuration.extensions(withLayers: namesLayers(transceiver))
        for capability in capabilities where capability.kinds.contains(transceiver.kind) {
            guard let id = extensionIDs.assign(capability, allowsMixed: peerAllowsMixed) else { continue }
            extensions.append(SDP.ExtensionMap(id: UInt16(id), uri: capability.uri))
        }
        // RFC 8842 §5.2 leaves the choice to the answerer, later offers too; the answer keeps the role that is.
        let section = LocalSection(
            mid: mid.isMadeUp ? nil : mid, kind: transceiver.kind, proto: "UDP/TLS/RTP/SAVPF",
            direction: transceiver.direction.described,
            codecs: codecs.withPayloadTypesOfRedundancy, extensions: extensions, setup: .actpass, ice: ice,
            fingerprint: configuration.fingerprint, cname: cname, transceiver: transceiver,
            layers: transceiver.layers.count > 1 ? transceiver.layers : [],
            receivedLayers: transceiver.association.receivedLayers)
        return section.description
    }

    /// Whether packets may name their layers: where there are some, and where an answer of ours has allowed it.
    private func namesLayers(_ transceiver: Transceiver) -> Bool {
        if transceiver.layers.count > 1 || !transceiver.association.receivedLayers.isEmpty { return true }
        guard let index = transceiver.mLineIndex, let media = currentLocalDescription?.sdp.media,
            media.indices.contains(index)
        else { return false }
        return media[index].all(SDP.ExtensionMap.self).contains { $0.uri == HeaderExtensionURI.rid }
    }

    /// What is in use goes first, in its order, so that a later offer of ours does not change the codec of a call.
    private func offeredOrder(_ transceiver: Transceiver) -> [CodecParameters] {
        let codecs = configuration.codecs(for: transceiver.kind)
        let inUse = transceiver.sendParameters?.codecs ?? transceiver.receiveParameters?.codecs ?? []
        func rank(_ codec: CodecParameters) -> Int { inUse.firstIndex { $0.matches(codec) } ?? inUse.count }
        return codecs.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
            .map(\.element)
    }

    /// The names of an offer's bundle. RFC 9143 §7.5.3: rejected sections are not in it. §7.5: the first one stands for
    /// it, and that stays the section which the last answer chose.
    private func offeredBundle(_ media: [MediaDescription]) -> [String]? {
        guard media.contains(where: { $0.mid != nil }) else { return nil }
        var mids = media.filter { !$0.isRejected }.compactMap(\.mid)
        guard let tagged = transport.section, media.indices.contains(tagged), let mid = media[tagged].mid,
            let place = mids.firstIndex(of: mid)
        else { return mids }
        mids.remove(at: place)
        mids.insert(mid, at: 0)
        return mids
    }

    /// The session section around media sections, with the candidates that belong in.
    mutating func makeDescription(
        _ type: SDPType, media: [MediaDescription], bundle: [String]?, allowsMixedExtensions: Bool
    ) -> SessionDescription {
        sessionVersion += 1
        var description = SessionDescription(
            origin: SDP.Origin(sessionID: sessionID, sessionVersion: sessionVersion), media: media)
        // Empty where all is rejected (RFC 5888 §5): libwebrtc takes no description without one under `max-bundle`.
        if let bundle { description.append(SDP.Group(semantics: "BUNDLE", mids: bundle)) }
        if allowsMixedExtensions { description.append(.extmapAllowMixed) }
        if configuration.isICELite { description.append(.iceLite) }
        if !configuration.iceOptions.isEmpty { description.append(SDP.ICEOptions(configuration.iceOptions)) }
        let section = type == .offer ? transport.section : description.taggedSection
        localCandidates.complete(&description, section: section)
        description.nameTracksOnce()
        return description
    }
}

extension SessionDescription {
    /// RFC 8830 §2: no two sections have the same stream and the same track. Where the application has given two
    /// transceivers one id, that of the later section is left out, as RFC 9429 has it everywhere: it is another track,
    /// which the peer gives an id of its own. libwebrtc makes up another one.
    fileprivate mutating func nameTracksOnce() {
        var known: Set<SDP.MediaStreamID> = []
        for index in media.indices {
            let msids = media[index].all(SDP.MediaStreamID.self)
            if msids.contains(where: { $0.track != nil && known.contains($0) }) {
                media[index].removeAttributes(named: SDP.MediaStreamID.name)
                for msid in msids { media[index].append(SDP.MediaStreamID(stream: msid.stream, track: nil)) }
            }
            known.formUnion(msids)
        }
    }
}
