internal import RTCWire

/// What a remote description has to fulfil before anything is changed by it.
extension Negotiator {
    func validateOffer(_ offer: SessionDescription) throws(NegotiationError) {
        let known = currentRemoteDescription?.sdp.media ?? []
        let ours = currentLocalDescription?.sdp.media ?? []
        guard offer.media.count >= known.count else { throw .sectionsChanged(section: offer.media.count) }
        try validateNames(offer, isOffer: true)
        for (index, before) in known.enumerated() {
            let after = offer.media[index]
            // RFC 8829 §5.2.2: only a section that was rejected may become another one.
            let isFree = before.isRejected || (ours.indices.contains(index) && ours[index].isRejected)
            if isFree || after.isRejected { continue }
            guard after.kind == before.kind, after.mid == before.mid else { throw .sectionsChanged(section: index) }
        }
        for (index, section) in offer.media.enumerated() {
            try validateUnified(section, at: index)
            guard !section.isRejected, section.isSecureRTP || takesData(section) else { continue }
            try validateTransport(PeerTransport(reading: offer, section: index), isAnswer: false)
        }
    }

    func validateAnswer(_ answer: SessionDescription, to offer: SessionDescription) throws(NegotiationError) {
        guard answer.media.count == offer.media.count else {
            throw .sectionsChanged(section: min(answer.media.count, offer.media.count))
        }
        try validateNames(answer, isOffer: false)
        var accepted: [Int] = []
        for (index, section) in answer.media.enumerated() {
            let offered = offer.media[index]
            // A peer without RFC 5888 may leave mids out, and then the place alone tells.
            guard section.kind == offered.kind, section.mid == nil || section.mid == offered.mid else {
                throw .sectionsChanged(section: index)
            }
            try validateUnified(section, at: index)
            if section.isRejected { continue }
            // RFC 3264 §6: what was offered rejected stays so.
            guard !offered.isRejected else { throw .sectionsChanged(section: index) }
            if offered.dataChannelForm != nil {
                // RFC 8841 §4.4: accepted as what it was offered.
                guard section.dataChannelPort != nil else { throw .noCommonCodec(section: index) }
                try validateTransport(PeerTransport(reading: answer, section: index), isAnswer: true)
                accepted.append(index)
                continue
            }
            guard section.has(.rtcpMux) else { throw .rtcpMuxRequired(section: index) }
            let common = CodecNegotiation.sending(
                local: offered.codecs, remote: section.codecs, isAnswerLocal: false)
            guard !common.isEmpty else { throw .noCommonCodec(section: index) }
            try validateTransport(PeerTransport(reading: answer, section: index), isAnswer: true)
            accepted.append(index)
        }
        try validateBundle(of: answer, accepted: accepted)
    }

    /// Mids are unique, and groups name sections that are there (RFC 5888 §9.2).
    private func validateNames(_ description: SessionDescription, isOffer: Bool) throws(NegotiationError) {
        var seen: Set<String> = []
        for (index, section) in description.media.enumerated() {
            guard let mid = section.mid else { continue }
            guard seen.insert(mid).inserted else { throw .duplicateMid(section: index) }
        }
        // RFC 9143 §7: and each is in one group at most. Naming it again and again would only cost us time.
        var bundled: Set<String> = []
        for mid in description.bundleGroups.joined() {
            guard bundled.insert(mid).inserted, bundled.count <= SDPLimits.mediaSections else {
                throw .invalidBundleGroup
            }
            // Of an offer it is left out: FFmpeg's WHIP has named sound and pictures though it sends one of them.
            guard isOffer || seen.contains(mid) else { throw .invalidBundleGroup }
        }
    }

    /// RFC 9143 §7.3: an answer that accepts more than one section has them all in one group.
    private func validateBundle(of answer: SessionDescription, accepted: [Int]) throws(NegotiationError) {
        guard accepted.count > 1 else { return }
        guard
            let group = answer.bundleGroups.first(where: { group in
                accepted.contains { answer.media[$0].mid.map(group.contains) ?? false }
            })
        else { throw .notBundled(section: accepted[1]) }
        for index in accepted {
            guard let mid = answer.media[index].mid, group.contains(mid) else { throw .notBundled(section: index) }
        }
    }

    /// Plan B puts several tracks into one section and tells them apart by `a=ssrc:… msid:…`. Repeating one track on
    /// its primary and its retransmission source is fine, and common.
    private func validateUnified(_ section: MediaDescription, at index: Int) throws(NegotiationError) {
        guard section.first(SDP.MediaStreamID.self) == nil else { return }
        let tracks = Set(
            section.all(SDP.SourceAttribute.self).filter { $0.attribute == "msid" }.compactMap { source in
                source.value.flatMap { SDP.MediaStreamID(attributeValue: $0)?.track }
            })
        guard tracks.count <= 1 else { throw .planB(section: index) }
    }

    private func validateTransport(_ peer: PeerTransport, isAnswer: Bool) throws(NegotiationError) {
        if configuration.isICELite, peer.ice.isLite { throw .bothLite }
        switch peer.setup {
        case .holdconn: throw .invalidSetup
        case .actpass where isAnswer: throw .invalidSetup
        case .active, .passive, .actpass, nil: break
        }
        guard let dtls = transport.dtls else { return }
        // RFC 8842 §5.5: other fingerprints, or the other role, mean a new association.
        guard !Set(peer.fingerprints).isDisjoint(with: dtls.fingerprints) else { throw .dtlsAssociationChanged }
        // The role of a later answer is not looked at: our offers say `actpass` (§5.2), and libdatachannel and older
        // Pions answer that with `active` whatever they are. But a final one keeps the role of its provisional one.
        if isAnswer, stable?.transport.dtls != nil { return }
        switch (peer.setup, dtls.role) {
        case (.active, .client), (.passive, .server): throw .dtlsAssociationChanged
        case (.active, .server), (.passive, .client), (.actpass, _), (.holdconn, _), (nil, _): break
        }
    }
}
