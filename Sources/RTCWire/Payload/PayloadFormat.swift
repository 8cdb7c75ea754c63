/// The RTP payload formats that the stack packs and unpacks.
public enum PayloadFormat: Sendable, Hashable, CaseIterable {
    /// RFC 6184, packetization-mode 1.
    case h264
    /// RFC 7741.
    case vp8
    /// RFC 7587.
    case opus
    /// RFC 9628.
    case vp9
    /// "RTP Payload Format For AV1", version 1.0, of the Alliance for Open Media.
    case av1
    /// RFC 7798, single-stream mode.
    case h265
    /// G.711 µ-law (RFC 3551 §4.5.14), static payload type 0.
    case pcmu
    /// G.711 A-law (RFC 3551 §4.5.14), static payload type 8.
    case pcma

    /// Ticks a second of the RTP timestamp.
    public var clockRate: UInt32 {
        switch self {
        case .h264, .vp8, .vp9, .av1, .h265: 90_000
        case .opus: 48_000
        case .pcmu, .pcma: 8_000
        }
    }

    public var isVideo: Bool {
        switch self {
        case .h264, .vp8, .vp9, .av1, .h265: true
        case .opus, .pcmu, .pcma: false
        }
    }

    /// What `a=rtpmap` calls it (RFC 8866 §6.6): the subtype of its media type, as it is registered.
    public var encodingName: String {
        switch self {
        case .h264: "H264"
        case .h265: "H265"
        case .vp8: "VP8"
        case .vp9: "VP9"
        case .av1: "AV1"
        case .opus: "opus"
        case .pcmu: "PCMU"
        case .pcma: "PCMA"
        }
    }

    /// Its media type (RFC 4855 §1), as `video/VP8`.
    public var mimeType: String { (isVideo ? "video/" : "audio/") + encodingName }

    /// - Parameter encodingName: in upper or lower case (RFC 4855 §3).
    public init?(encodingName: String) {
        let name = encodingName.lowercased()
        guard let format = Self.allCases.first(where: { $0.encodingName.lowercased() == name }) else { return nil }
        self = format
    }

    /// How long a packet of sound is, in ticks of `clockRate`; nil for pictures, and for sound that does not parse.
    public func samples(in packet: RawSpan) -> Int? {
        switch self {
        case .h264, .vp8, .vp9, .av1, .h265: nil
        case .opus: OpusPacket(packet)?.samples
        // RFC 3551 §4.5.14: one byte a sample.
        case .pcmu, .pcma: packet.byteCount > 0 ? packet.byteCount : nil
        }
    }
}
