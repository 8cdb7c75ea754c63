internal import RTCWire

extension CodecParameters {
    /// The same format with compatible parameters, whatever the payload types are.
    func matches(_ other: CodecParameters) -> Bool {
        guard name.lowercased() == other.name.lowercased(), clockRate == other.clockRate, channels == other.channels
        else { return false }
        switch role {
        case .media(.h264): return H264Negotiation.matches(parameters, other.parameters)
        case .media(.vp9): return VideoProfiles.matchesVP9(parameters, other.parameters)
        case .media(.av1): return VideoProfiles.matchesAV1(parameters, other.parameters)
        case .media(.h265): return VideoProfiles.matchesH265(parameters, other.parameters)
        // RFC 7741 §6.2.1 and RFC 7587 §6.1: what their parameters say are limits and wishes, not other formats.
        case .media(.vp8), .media(.opus), .media(.pcmu), .media(.pcma): return true
        // Theirs name payload types of the section, and events of which each side may know more than the other.
        case .redundancy, .telephoneEvent: return true
        // Of a format that we only pass on we know no rule, so the parameters have to be the same.
        case .unknown: return Set(parameters.options) == Set(other.parameters.options)
        }
    }

    /// Whether a stream in an offered format that does not match can be received as this one.
    func canTake(_ offered: CodecParameters) -> Bool {
        guard role == .media(.h264), offered.role == .media(.h264), clockRate == offered.clockRate else { return false }
        return H264Negotiation.canTake(offered.parameters, with: parameters)
    }

    /// The format in our answer to an offered one that it matches or can take: the offer's payload types, the feedback
    /// that both know or that we insist on, and our own parameters (RFC 8829 §5.3.1).
    func answering(_ offered: CodecParameters) -> CodecParameters {
        var codec = self
        codec.payloadType = offered.payloadType
        codec.rtxPayloadType = rtxPayloadType == nil ? nil : offered.rtxPayloadType
        codec.feedback = feedback.filter { offered.feedback.contains($0) || unofferedFeedback.contains($0) }
        switch role {
        case .media(.h264):
            codec.parameters = H264Negotiation.answer(ours: parameters, offered: offered.parameters)
        case .media(.h265):
            codec.parameters = VideoProfiles.answerH265(ours: parameters, offered: offered.parameters)
        case .media, .redundancy, .telephoneEvent, .unknown: break
        }
        return codec
    }
}

extension MediaDescription {
    /// RFC 3551 table 4.
    private static let staticTypes = [
        SDP.RTPMap(payloadType: 0, encoding: "PCMU", clockRate: 8_000),
        SDP.RTPMap(payloadType: 8, encoding: "PCMA", clockRate: 8_000),
    ]

    /// The codecs of an RTP section in its order, with their retransmission formats put in place. Of the payload types
    /// without `a=rtpmap` (the static ones of RFC 3551) those of G.711 are known; the others are left out.
    var codecs: [CodecParameters] {
        // RFC 5761 §4: with the marker, 64 to 95 would be taken for RTCP, which is always multiplexed here.
        let types = payloadTypes.filter { !(64...95).contains($0) }
        let maps = all(SDP.RTPMap.self)
        // Of several lines about one payload type the first counts. Looked up, for a peer may write thousands.
        var encodings = Dictionary(maps.map { ($0.payloadType, $0) }) { first, _ in first }
        for map in Self.staticTypes where encodings[map.payloadType] == nil { encodings[map.payloadType] = map }
        let formats = Dictionary(
            all(SDP.FormatParameters.self).compactMap { format in format.payloadType.map { ($0, format.parameters) } }
        ) { first, _ in first }
        let feedback = all(SDP.RTCPFeedback.self)
        var retransmissions: [UInt8: SDP.RTPMap] = [:]
        for type in types {
            guard let map = encodings[type], map.encoding.lowercased() == "rtx", let text = formats[type]?["apt"],
                let apt = UInt8(text), retransmissions[apt] == nil
            else { continue }
            // RFC 4588 §8.6: `apt` names the payload type that is retransmitted.
            retransmissions[apt] = map
        }
        return types.compactMap { type in
            guard let map = encodings[type], map.encoding.lowercased() != "rtx" else { return nil }
            // RFC 4588 §8.1: the clock rate of the retransmissions is that of the original.
            let rtx = retransmissions[type].flatMap { $0.clockRate == map.clockRate ? $0.payloadType : nil }
            return CodecParameters(
                payloadType: type, name: map.encoding, clockRate: map.clockRate, channels: map.channels ?? 1,
                parameters: formats[type] ?? SDP.CodecOptions(),
                feedback: feedback.filter { $0.payloadType == nil || $0.payloadType == type }.map(\.feedback),
                rtxPayloadType: rtx)
        }
    }
}

/// Which of an offer's codecs go into the answer, and what follows for each direction.
enum CodecNegotiation {
    /// The codecs of our answer. In the offer's order (RFC 3264 §6.1 recommends it), unless the transceiver has
    /// preferences of its own (RFC 8829 §5.3.1). A codec of ours answers one offered format at most.
    ///
    /// - Parameter takesBaseline: as in `NegotiatorConfiguration`.
    static func answer(
        offered: [CodecParameters], supported: [CodecParameters], isOurOrder: Bool, takesBaseline: Bool = false
    ) -> [CodecParameters] {
        var taken: Set<Int> = []
        var answers: [Int: (rank: Int, codec: CodecParameters)] = [:]
        func choose(where fits: (_ ours: CodecParameters, _ offer: CodecParameters) -> Bool) {
            for (place, offer) in offered.enumerated() where answers[place] == nil {
                guard let index = supported.indices.first(where: { !taken.contains($0) && fits(supported[$0], offer) })
                else { continue }
                taken.insert(index)
                answers[place] = (rank: isOurOrder ? index : place, codec: supported[index].answering(offer))
            }
        }
        choose { $0.matches($1) }
        // Only then: where the offer has the format itself, that is the better one.
        if takesBaseline { choose { $0.canTake($1) } }
        let codecs = answers.values.sorted { $0.rank < $1.rank }.map(\.codec).withPayloadTypesOfRedundancy
        return codecs.carryMedia ? codecs : []
    }

    /// What we may send: the answer's formats in the answer's order, each as the peer describes it, with the feedback
    /// that an answer of ours insists on (`CodecParameters.unofferedFeedback`).
    static func sending(local: [CodecParameters], remote: [CodecParameters], isAnswerLocal: Bool) -> [CodecParameters] {
        let (leading, following) = isAnswerLocal ? (local, remote) : (remote, local)
        return leading.compactMap { leader in
            guard let follower = following.first(where: { leader.matches($0) }) else { return nil }
            let (ours, theirs) = isAnswerLocal ? (leader, follower) : (follower, leader)
            var codec = theirs.limited(to: ours)
            if isAnswerLocal { codec.feedback += ours.feedback.filter { !theirs.feedback.contains($0) } }
            return codec
        }
    }

    /// What may arrive: the same formats, each as we describe it, likewise.
    static func receiving(
        local: [CodecParameters], remote: [CodecParameters], isAnswerLocal: Bool
    ) -> [CodecParameters] {
        let (leading, following) = isAnswerLocal ? (local, remote) : (remote, local)
        return leading.compactMap { leader in
            guard let follower = following.first(where: { leader.matches($0) }) else { return nil }
            let (ours, theirs) = isAnswerLocal ? (leader, follower) : (follower, leader)
            var codec = ours.limited(to: theirs)
            if isAnswerLocal { codec.feedback = ours.feedback }
            return codec
        }
    }
}

extension CodecParameters {
    /// Without the feedback and the retransmissions that the other side does not have.
    fileprivate func limited(to other: CodecParameters) -> CodecParameters {
        var codec = self
        codec.feedback = feedback.filter { other.feedback.contains($0) }
        if other.rtxPayloadType == nil { codec.rtxPayloadType = nil }
        return codec
    }
}
