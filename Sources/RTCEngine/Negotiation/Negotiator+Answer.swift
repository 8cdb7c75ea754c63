public import RTCWire

extension Negotiator {
    /// Answers the peer's offer that was set (RFC 8829 §5.3). Nothing is in force until the answer is set.
    ///
    /// - Parameter ice: the agent's present credential, or a fresh one, which it has to be when
    ///   `answerNeedsNewICE` is true.
    public mutating func createAnswer(ice: ICEParameters) throws(NegotiationError) -> SessionDescription {
        switch signalingState {
        case .haveRemoteOffer, .haveLocalPranswer: break
        case .closed: throw .closed
        case .stable, .haveLocalOffer, .haveRemotePranswer: throw .wrongState(signalingState, .answer, .local)
        }
        guard let offer = pendingRemoteDescription?.sdp else { throw .noRemoteDescription }
        if answerNeedsNewICE, ice == stable?.transport.localICE { throw .iceRestartUnanswered }
        let setup = try answerSetup(for: offer)
        let allowsMixed = offer.has(.extmapAllowMixed)
        let accepted = acceptedSections(of: offer)
        var media: [MediaDescription] = []
        for (index, offered) in offer.media.enumerated() {
            if case .data = accepted[index] {
                media.append(
                    LocalSection.data(
                        mid: offered.mid, answering: offered, setup: setup, ice: ice, configuration: configuration))
                continue
            }
            guard case .media(let transceiver, let codecs) = accepted[index],
                let kind = MediaKind(rawValue: offered.kind)
            else {
                media.append(
                    LocalSection.rejected(
                        like: offered, setup: setup, ice: ice, fingerprint: configuration.fingerprint))
                continue
            }
            let sent = SimulcastNegotiation.wanted(transceiver?.layers ?? [], by: offered)
            let received = configuration.receivesSimulcast ? SimulcastNegotiation.sent(by: offered) : []
            // A server takes their names in sections without layers too. libwebrtc leaves out of all its later offers
            // what the first answer did not take, and then finds that it cannot send layers.
            let extensions = HeaderExtensionNegotiation.answer(
                offered: offered.all(SDP.ExtensionMap.self),
                supported: configuration.extensions(withLayers: configuration.receivesSimulcast || !sent.isEmpty),
                kind: kind, allowsMixed: offer.allowsMixedExtensions(in: offered))
            // RFC 3264 §6.1: what the offer allows and we want.
            let wanted = transceiver?.direction.described ?? .inactive
            let direction = offer.direction(ofSection: index).reversed.intersection(wanted)
            let section = LocalSection(
                mid: offered.mid, kind: kind, proto: offered.proto, direction: direction, codecs: codecs,
                extensions: extensions, setup: setup, ice: ice, fingerprint: configuration.fingerprint, cname: cname,
                transceiver: transceiver, layers: sent, receivedLayers: received.count > 1 ? received : [],
                allowsReducedSizeRTCP: offered.has(.rtcpReducedSize),
                allowsMixedExtensions: offered.has(.extmapAllowMixed))
            media.append(section.description)
        }
        // RFC 9143 §7.3: only what the offer has in a group, in its order, for the first stands for the bundle.
        let accepting = Set(media.filter { !$0.isRejected }.compactMap(\.mid))
        let groups = offer.bundleGroups
        let bundle = groups.isEmpty ? nil : groups.joined().filter { accepting.contains($0) }
        let answer = makeDescription(.answer, media: media, bundle: bundle, allowsMixedExtensions: allowsMixed)
        created = CreatedDescription(typed: TypedDescription(type: .answer, sdp: answer), plan: [])
        return answer
    }

    /// The sections that can be accepted, by index, with what they are answered with.
    private func acceptedSections(of offer: SessionDescription) -> [Int: AcceptedSection] {
        var accepted: [Int: AcceptedSection] = [:]
        var bundle: [String]?
        for (index, section) in offer.media.enumerated() {
            guard let answered = accept(section, at: index) else { continue }
            if let bundle {
                // RFC 8829 §4.1.1, max-bundle: what cannot share the first section's transport is rejected.
                guard let mid = section.mid, bundle.contains(mid) else { continue }
            } else {
                bundle = section.mid.flatMap { mid in offer.bundleGroups.first { $0.contains(mid) } } ?? []
            }
            accepted[index] = answered
        }
        // RFC 9143 §7.3.3: the section that stands for the bundle cannot be rejected alone. Without a codec that we
        // know it is accepted with the offer's, and nothing flows in it until an offer has one.
        if let tagged = bundle?.compactMap({ offer.mediaIndex(ofMid: $0) }).first, accepted[tagged] == nil {
            accepted[tagged] = acceptInactive(offer.media[tagged])
        }
        return accepted
    }

    private func accept(_ section: MediaDescription, at index: Int) -> AcceptedSection? {
        if !section.isRejected, section.dataChannelPort != nil, index == data.mLineIndex { return .data }
        guard section.isAcceptable else { return nil }
        // W3C webrtc-pc #2220: one that we have stopped is inactive until an offer of ours ends it.
        if let transceiver = transceivers.first(where: { $0.mLineIndex == index }), transceiver.phase != .stopped {
            let codecs = commonCodecs(section.codecs, transceiver)
            return codecs.isEmpty ? nil : .media(transceiver, codecs)
        }
        guard let retired, retired.mLineIndex == index else { return nil }
        let codecs = commonCodecs(section.codecs, retired)
        guard !codecs.isEmpty else { return acceptInactive(section) }
        return .media(nil, codecs)
    }

    private func acceptInactive(_ section: MediaDescription) -> AcceptedSection? {
        guard section.isAcceptable else { return nil }
        let codecs = section.codecs
        return codecs.isEmpty ? nil : .media(nil, codecs)
    }

    /// Of the offered codecs those that we know, as we answer them.
    func commonCodecs(_ offered: [CodecParameters], _ transceiver: Transceiver) -> [CodecParameters] {
        CodecNegotiation.answer(
            offered: offered, supported: transceiver.preferredCodecs ?? configuration.codecs(for: transceiver.kind),
            isOurOrder: transceiver.preferredCodecs != nil, takesBaseline: configuration.takesBaseline)
    }

    /// RFC 8842 §5.3: an association that lives keeps its roles; otherwise we choose if we may.
    private func answerSetup(for offer: SessionDescription) throws(NegotiationError) -> SDP.Setup {
        let offered: SDP.Setup?
        if let index = offer.firstUsableSection {
            offered = try PeerTransport(reading: offer, section: index).setup
        } else {
            offered = nil
        }
        switch offered {
        case .active: return .passive
        case .passive: return .active
        case .holdconn: throw .invalidSetup
        // An offer that does not say is from before DTLS had roles to choose; browsers take it for actpass.
        case .actpass, nil: break
        }
        switch transport.dtls?.role ?? configuration.answeringDTLSRole {
        case .client: return .active
        case .server: return .passive
        }
    }
}

/// What a section of an offer is accepted with.
private enum AcceptedSection {
    /// Without a transceiver nothing is sent or received.
    case media(Transceiver?, [CodecParameters])
    case data
}

extension MediaDescription {
    /// What we can take as far as its transport goes.
    fileprivate var isAcceptable: Bool { !isRejected && isSecureRTP && has(.rtcpMux) }

    /// Sound or pictures over DTLS-SRTP. RFC 8829 §5.1.2 has all these names accepted and repeated.
    var isSecureRTP: Bool {
        guard MediaKind(rawValue: kind) != nil else { return false }
        return [
            "UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "RTP/SAVPF",
            "RTP/SAVP", "RTP/AVPF", "RTP/AVP",
        ].contains(proto)
    }
}
