/// The RTP payload formats that the stack packs and unpacks.
public enum PayloadFormat: Sendable, Hashable, CaseIterable {
    /// RFC 6184, packetization-mode 1.
    case h264
    /// RFC 7741.
    case vp8
    /// RFC 7587.
    case opus

    /// Ticks a second of the RTP timestamp.
    public var clockRate: UInt32 {
        switch self {
        case .h264, .vp8: 90_000
        case .opus: 48_000
        }
    }

    public var isVideo: Bool {
        switch self {
        case .h264, .vp8: true
        case .opus: false
        }
    }
}
