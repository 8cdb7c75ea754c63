/// What the first bytes of an Opus packet say without decoding it (RFC 6716 §3.1).
public struct OpusPacket: Sendable, Hashable {
    /// Opus always counts in this clock (RFC 7587 §4.1).
    public static let samplesPerSecond = 48_000
    /// RFC 6716 §3.2.5, requirement R5: at most 120 ms.
    public static let maximumSamples = 5_760
    /// 20 ms of digital silence, mono: configuration 31 (CELT, fullband), one frame whose only symbols say
    /// "silence". For filling a hole in a recording, and for the end of a sound that is muted.
    public static let silence: [UInt8] = [0xf8, 0xff, 0xfe]

    /// Mode, bandwidth and frame length, 0 to 31.
    public var configuration: UInt8
    public var isStereo: Bool
    /// Frames in the packet, 0 to 48.
    public var frameCount: Int
    /// Samples of one frame, in 48 kHz.
    public var samplesPerFrame: Int

    /// Samples of the packet for each channel, in 48 kHz: the advance of the RTP timestamp.
    public var samples: Int { frameCount * samplesPerFrame }

    /// Nil for an empty packet, a cut-off frame count, or more than 120 ms (which RFC 6716 §3.4 forbids).
    public init?(_ packet: RawSpan) {
        guard let toc = packet.byte(at: 0) else { return nil }
        configuration = toc >> 3
        isStereo = toc & 0x04 != 0
        // RFC 6716 table 2: SILK 10, 20, 40, 60 ms; hybrid 10, 20 ms; CELT 2.5, 5, 10, 20 ms.
        switch configuration {
        case 0..<12: samplesPerFrame = [480, 960, 1_920, 2_880][Int(configuration & 3)]
        case 12..<16: samplesPerFrame = configuration & 1 == 0 ? 480 : 960
        default: samplesPerFrame = 120 << Int(configuration & 3)
        }
        switch toc & 0x03 {
        case 0: frameCount = 1
        case 1, 2: frameCount = 2
        default:
            guard let count = packet.byte(at: 1), count & 0x3f > 0 else { return nil }
            frameCount = Int(count & 0x3f)
        }
        guard samples <= Self.maximumSamples else { return nil }
    }
}
