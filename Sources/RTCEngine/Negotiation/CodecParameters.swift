public import RTCWire

/// A codec as it is offered or as it was negotiated, with the payload type of its retransmissions.
public struct CodecParameters: Sendable, Hashable {
    /// In a configuration, the payload type that we would like; in a negotiated codec, the one in force.
    public var payloadType: UInt8
    /// As `H264`; compared without regard to case.
    public var name: String
    /// Ticks of the RTP timestamp in a second: 90,000 for video, 48,000 for Opus.
    public var clockRate: UInt32
    /// 1 for video.
    public var channels: UInt8
    /// The `a=fmtp` parameters.
    public var parameters: SDP.CodecOptions
    /// As `nack pli`; in the order of preference.
    public var feedback: [String]
    /// What of `feedback` our answer has even if the offer has not. RFC 4585 §4.2 lets an answerer add nothing, but
    /// libwebrtc, which offers no `nack` for sound, resends it where an answer has that, and LiveKit relies on it.
    public var unofferedFeedback: [String] = []
    /// The payload type of RFC 4588 retransmissions; nil when they are not used.
    public var rtxPayloadType: UInt8?

    public init(
        payloadType: UInt8, name: String, clockRate: UInt32, channels: UInt8 = 1,
        parameters: SDP.CodecOptions = SDP.CodecOptions(), feedback: [String] = [], rtxPayloadType: UInt8? = nil
    ) {
        self.payloadType = payloadType
        self.name = name
        self.clockRate = clockRate
        self.channels = channels
        self.parameters = parameters
        self.feedback = feedback
        self.rtxPayloadType = rtxPayloadType
    }

    /// How the payload is packed; nil for a codec that the stack only passes on.
    public var payloadFormat: PayloadFormat? { PayloadFormat(encodingName: name) }
}

extension CodecParameters {
    /// What every video sender of WebRTC understands (RFC 8834 §5.1).
    public static let videoFeedback = ["transport-cc", "ccm fir", "nack", "nack pli"]

    /// H.264 Constrained Baseline level 3.1 in packetization mode 1, which RFC 7742 §6.2 asks for.
    public static let h264 = CodecParameters(
        payloadType: 102, name: PayloadFormat.h264.encodingName, clockRate: 90_000,
        parameters: SDP.CodecOptions("level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"),
        feedback: videoFeedback, rtxPayloadType: 103)

    /// RFC 7741.
    public static let vp8 = CodecParameters(
        payloadType: 96, name: PayloadFormat.vp8.encodingName, clockRate: 90_000, feedback: videoFeedback,
        rtxPayloadType: 97)

    /// RFC 7587; always said to have two channels.
    public static let opus = CodecParameters(
        payloadType: 111, name: PayloadFormat.opus.encodingName, clockRate: 48_000, channels: 2,
        parameters: SDP.CodecOptions("minptime=10;useinbandfec=1"), feedback: ["transport-cc"])

    /// Opus whose lost packets are asked for (RFC 4585 §6.2.1), as in LiveKit's rooms.
    public static let repairedOpus = CodecParameters(
        payloadType: opus.payloadType, name: opus.name, clockRate: opus.clockRate, channels: opus.channels,
        parameters: opus.parameters, feedback: opus.feedback + ["nack"])

    /// RFC 9628, profile 0: eight bits of 4:2:0.
    public static let vp9 = CodecParameters(
        payloadType: 98, name: PayloadFormat.vp9.encodingName, clockRate: 90_000,
        parameters: SDP.CodecOptions("profile-id=0"),
        feedback: videoFeedback, rtxPayloadType: 99)

    /// AV1's payload format, Main profile at level 3.1 (`level-idx` 5).
    public static let av1 = CodecParameters(
        payloadType: 45, name: PayloadFormat.av1.encodingName, clockRate: 90_000,
        parameters: SDP.CodecOptions("level-idx=5;profile=0;tier=0"), feedback: videoFeedback, rtxPayloadType: 46)

    /// RFC 7798, Main profile at level 3.1. Not offered unless a configuration names it: few peers have it.
    public static let h265 = CodecParameters(
        payloadType: 49, name: PayloadFormat.h265.encodingName, clockRate: 90_000,
        parameters: SDP.CodecOptions("level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST"), feedback: videoFeedback,
        rtxPayloadType: 50)

    /// H.265 for who neither encodes nor decodes it: the level is the other side's alone (level 6.2 is the highest).
    public static let anyLevelH265: CodecParameters = {
        var codec = h265
        codec.parameters["level-id"] = "186"
        return codec
    }()

    /// RFC 2198: Opus with the packets before it. It is used where it is preferred to Opus alone.
    public static let redundantOpus = CodecParameters(payloadType: 63, name: "red", clockRate: 48_000, channels: 2)

    /// G.711 µ-law, which RFC 7874 §3 asks for.
    public static let pcmu = CodecParameters(payloadType: 0, name: PayloadFormat.pcmu.encodingName, clockRate: 8_000)

    /// G.711 A-law, which RFC 7874 §3 asks for.
    public static let pcma = CodecParameters(payloadType: 8, name: PayloadFormat.pcma.encodingName, clockRate: 8_000)

    /// RFC 4733 beside Opus: the keys of a telephone.
    public static let telephoneEvent = CodecParameters(
        payloadType: 110, name: "telephone-event", clockRate: 48_000, parameters: SDP.CodecOptions("0-15"))

    /// RFC 4733 beside G.711.
    public static let narrowbandTelephoneEvent = CodecParameters(
        payloadType: 126, name: "telephone-event", clockRate: 8_000, parameters: SDP.CodecOptions("0-15"))

    /// What is offered and accepted for sound when nothing else is said.
    public static let defaultAudio: [CodecParameters] = [
        .opus, .redundantOpus, .pcmu, .pcma, .telephoneEvent, .narrowbandTelephoneEvent,
    ]

    /// What is offered and accepted for pictures when nothing else is said.
    public static let defaultVideo: [CodecParameters] = [.h264, .vp8, .vp9, .av1]
}
