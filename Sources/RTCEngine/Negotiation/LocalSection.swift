internal import RTCWire

/// What the attributes of one media section of ours say.
struct LocalSection {
    var mid: String?
    var kind: MediaKind
    var proto: String
    var direction: SDP.Direction
    var codecs: [CodecParameters]
    var extensions: [SDP.ExtensionMap]
    var setup: SDP.Setup
    var ice: ICEParameters
    var fingerprint: Fingerprint
    var cname: String
    /// Nil for a section in which nobody sends or receives.
    var transceiver: Transceiver?
    /// The layers that are sent; empty without simulcast.
    var layers: [LayerSources] = []
    /// The names of the layers that are received; empty without simulcast.
    var receivedLayers: [String] = []
    /// An answer says so where the offer's section does (RFC 5506 §5).
    var allowsReducedSizeRTCP = true
    /// In the section, besides what the session says; an answer says so where the offer does (RFC 8285 §6).
    var allowsMixedExtensions = false

    /// The media section. Every section repeats the transport's attributes, as browsers do it: a peer that rejects the
    /// first one still finds them. For the same reason bundled sections of an offer have port 9 and no
    /// `a=bundle-only`, which some peers take for a rejection.
    var description: MediaDescription {
        var formats: [String] = []
        for codec in codecs { formats.append("\(codec.payloadType)") }
        for codec in codecs {
            if let rtx = codec.rtxPayloadType { formats.append("\(rtx)") }
        }
        var section = MediaDescription(kind: kind.rawValue, port: 9, proto: proto, formats: formats)
        section.lines.append(.other(type: "c", value: "IN IP4 0.0.0.0"))
        section.append(SDPAttribute("rtcp", "9 IN IP4 0.0.0.0"))
        section.append(SDP.ICEUsernameFragment(ice.usernameFragment))
        section.append(SDP.ICEPassword(ice.password))
        section.append(SDP.Fingerprint(algorithm: fingerprint.algorithm, bytes: fingerprint.value))
        section.append(setup)
        if let mid { section.append(SDP.Mid(mid)) }
        for map in extensions { section.append(map) }
        section.append(direction)
        appendStreams(to: &section)
        section.append(.rtcpMux)
        if allowsReducedSizeRTCP { section.append(.rtcpReducedSize) }
        if allowsMixedExtensions { section.append(.extmapAllowMixed) }
        for codec in codecs { appendCodec(codec, to: &section) }
        for codec in codecs { appendRetransmission(of: codec, to: &section) }
        // Layers are told apart by their names (RFC 8853 §5.5), as browsers do it.
        if direction.sends, layers.isEmpty { appendSources(to: &section) }
        SimulcastNegotiation.describe(
            sent: direction.sends ? layers : [], received: direction.receives ? receivedLayers : [], in: &section)
        return section
    }

    /// RFC 8830 §2: one line a stream, and `-` for a track in none. RFC 8829 §5.3.1: also where an answer does not send
    /// because the offer does not let it; that is how `negotiationNeeded` knows that the track has been described.
    private func appendStreams(to section: inout MediaDescription) {
        guard let transceiver, transceiver.direction.sends else { return }
        let streams = transceiver.streamIDs.isEmpty ? ["-"] : transceiver.streamIDs
        for stream in streams { section.append(SDP.MediaStreamID(stream: stream, track: transceiver.trackID)) }
    }

    private func appendCodec(_ codec: CodecParameters, to section: inout MediaDescription) {
        section.append(
            SDP.RTPMap(
                payloadType: codec.payloadType, encoding: codec.name, clockRate: codec.clockRate,
                channels: codec.channels > 1 ? codec.channels : nil))
        for feedback in codec.feedback {
            section.append(SDP.RTCPFeedback(payloadType: codec.payloadType, feedback: feedback))
        }
        if !codec.parameters.isEmpty {
            section.append(SDP.FormatParameters(payloadType: codec.payloadType, parameters: codec.parameters))
        }
    }

    private func appendRetransmission(of codec: CodecParameters, to section: inout MediaDescription) {
        guard let rtx = codec.rtxPayloadType else { return }
        section.append(SDP.RTPMap(payloadType: rtx, encoding: "rtx", clockRate: codec.clockRate))
        let apt = SDP.CodecOptions([SDP.CodecOptions.Option("apt", "\(codec.payloadType)")])
        section.append(SDP.FormatParameters(payloadType: rtx, parameters: apt))
    }

    /// RFC 5576 §4: our sources, so that the peer needs no learning.
    private func appendSources(to section: inout MediaDescription) {
        guard let transceiver else { return }
        var sources = [transceiver.ssrc]
        if codecs.contains(where: { $0.rtxPayloadType != nil }) {
            sources.append(transceiver.rtxSSRC)
            section.append(SDP.SourceGroup(semantics: "FID", ssrcs: sources))
        }
        for source in sources {
            section.append(SDP.SourceAttribute(ssrc: source, attribute: "cname", value: cname))
        }
    }

    /// What only a sender's section says, and what an offer says anew.
    private static let passing: [String] = [
        "msid", "ssrc", "ssrc-group", "rid", "simulcast", "candidate", "end-of-candidates", "ice-ufrag", "ice-pwd",
        "setup", "sendrecv", "sendonly", "recvonly", "inactive",
    ]

    /// A section of ours that goes on with the formats that were agreed, and in which nothing flows any more.
    static func retired(like agreed: MediaDescription, setup: SDP.Setup, ice: ICEParameters) -> MediaDescription {
        var section = agreed
        for name in passing { section.removeAttributes(named: name) }
        section.append(SDP.ICEUsernameFragment(ice.usernameFragment))
        section.append(SDP.ICEPassword(ice.password))
        section.append(setup)
        section.append(SDP.Direction.inactive)
        return section
    }

    /// A section that is refused or ended: port 0, and what names it (RFC 8829 §5.2.2, §5.3.1). It shows the transport
    /// all the same, which no one needs, but aiortc refuses a description with a section that does not.
    static func rejected(
        like original: MediaDescription, setup: SDP.Setup, ice: ICEParameters, fingerprint: Fingerprint
    ) -> MediaDescription {
        var section = MediaDescription(
            kind: original.kind, port: 0, proto: original.proto,
            formats: original.formats.isEmpty ? ["0"] : original.formats)
        section.lines.append(.other(type: "c", value: "IN IP4 0.0.0.0"))
        section.append(SDP.ICEUsernameFragment(ice.usernameFragment))
        section.append(SDP.ICEPassword(ice.password))
        section.append(SDP.Fingerprint(algorithm: fingerprint.algorithm, bytes: fingerprint.value))
        section.append(setup)
        if let mid = original.mid { section.append(SDP.Mid(mid)) }
        section.append(SDP.Direction.inactive)
        if MediaKind(rawValue: original.kind) != nil { section.append(.rtcpMux) }
        return section
    }
}
