public import RTCEngine
public import RTCWire

/// A camera and its encoder, as far as the path sees them: thirty pictures a second whose sizes follow the target, with
/// noise, and a key frame when one is asked for.
public struct Encoder {
    public static let interval = Interval.microseconds(33_333)
    private static let keyFrameSize = 4.0
    /// Retransmissions and headers need some of the target too.
    private static let share = 0.95

    public var target: Bitrate
    public let maximum: Bitrate
    public var wantsKeyFrame = true
    private var random: EngineRandom
    private var number = 0
    /// Bytes above the target that are still to be saved.
    private var debt = 0.0

    public init(start: Bitrate, maximum: Bitrate, seed: UInt64) {
        target = start
        self.maximum = maximum
        random = .seeded(seed)
    }

    /// The next picture.
    public mutating func next(_ format: PayloadFormat) -> EncodedFrame {
        let mean = (min(target, maximum) * Self.share).bytes(in: Self.interval)
        var size = mean * Double.random(in: 0.8...1.2, using: &random)
        if wantsKeyFrame {
            size = mean * Self.keyFrameSize
        } else {
            // An encoder's rate control pays back over half a second.
            size -= min(debt / 15, mean * 0.6)
        }
        debt = max(debt + size - mean, 0)
        // RFC 6386 §9.1: bit 0 of the frame tag is 0 for a key frame, whose start code and size follow.
        var payload: [UInt8] = wantsKeyFrame ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00] : [0x11, 0, 0]
        payload.append(contentsOf: repeatElement(0x55, count: max(Int(size), 60)))
        defer {
            number += 1
            wantsKeyFrame = false
        }
        return EncodedFrame(
            payload: payload, timestamp: UInt32(truncatingIfNeeded: number * 3_000), isKeyFrame: wantsKeyFrame,
            format: format)
    }
}
