import RTCEngine
import RTCWire

/// A frame whose bytes follow from its number, so that a receiver can tell which one it is and that it is whole.
struct CountedFrame: Equatable {
    var side: Int
    /// Of the media section; they are small numbers in our descriptions.
    var mid: Int
    var number: Int
    var isKeyFrame: Bool
    var format: PayloadFormat

    static let videoTicks: UInt32 = 6_000
    static let audioTicks: UInt32 = 960

    var encoded: EncodedFrame {
        let ticks = format.isVideo ? Self.videoTicks : Self.audioTicks
        return EncodedFrame(
            payload: payload, timestamp: UInt32(truncatingIfNeeded: number) &* ticks, isKeyFrame: isKeyFrame,
            format: format)
    }

    private var payload: [UInt8] {
        CodedBytes.frame(format, isKeyFrame: isKeyFrame, body: body)
    }

    /// Some filling, and the label at the end. Never a zero, which in H.264 could look like a start code.
    private var body: [UInt8] {
        let size = format.isVideo ? (isKeyFrame ? 2_600 : 150 + number * 397 % 1_300) : 40
        var bytes = [UInt8](repeating: 0x80 | UInt8(number * 31 & 0x7f), count: size)
        // Opus 0, VP8 1, H.264 2; eight fit.
        let codes: [PayloadFormat] = [.opus, .vp8, .h264, .vp9, .av1, .h265, .pcmu, .pcma]
        let code = codes.firstIndex(of: format) ?? 0
        bytes.append(UInt8(0x80 | code << 2 | (isKeyFrame ? 2 : 0) | side))
        bytes.append(UInt8(0x80 | mid & 0x7f))
        for shift in [18, 12, 6, 0] { bytes.append(UInt8(0x40 | number >> shift & 0x3f)) }
        return bytes
    }

    /// Reads the label of a received frame; nil when the bytes are not those that were sent.
    init?(_ frame: EncodedFrame) {
        guard frame.payload.count >= 6 else { return nil }
        let label = frame.payload.suffix(6).map { Int($0) }
        side = label[0] & 1
        isKeyFrame = label[0] & 2 != 0
        format = frame.format
        mid = label[1] & 0x7f
        number = label[2...].reduce(0) { $0 << 6 | $1 & 0x3f }
        guard payload == frame.payload, isKeyFrame == frame.isKeyFrame else { return nil }
    }

    init(side: Int, mid: Int, number: Int, isKeyFrame: Bool, format: PayloadFormat) {
        self.side = side
        self.mid = mid
        self.number = number
        self.isKeyFrame = isKeyFrame
        self.format = format
    }
}

/// Makes the frames of one transceiver: a key frame first, and whenever one was asked for.
struct CallSource {
    let kind: MediaKind
    let interval: Interval
    var wantsKeyFrame = true
    var number = 0
    /// Frames that the connection took, or passed over.
    var accepted = 0
    /// Frames that it refused, for the section does not send.
    var refused = 0
}

/// What has come out of one transceiver, and whether it was right.
struct FrameJudge {
    private(set) var count = 0
    private(set) var keyFrames = 0
    /// Times that video went on at a later key frame than the next frame.
    private(set) var skips = 0
    /// Numbers of the frames in the order in which they came.
    private(set) var numbers: [Int] = []
    private(set) var arrivals: [Instant] = []
    private var last: (frame: CountedFrame, timestamp: UInt32)?
    /// Another source comes next, whose timestamps begin anywhere.
    var awaitsNewSource = false

    /// Takes a frame; says what is wrong with it.
    mutating func judge(_ encoded: EncodedFrame, from side: Int, mid: Int, at now: Instant) -> String? {
        guard let frame = CountedFrame(encoded) else { return "a frame of \(encoded.format) is damaged" }
        defer {
            last = (frame, encoded.timestamp)
            count += 1
            if frame.isKeyFrame { keyFrames += 1 }
            numbers.append(frame.number)
            arrivals.append(now)
        }
        guard frame.side == side, frame.mid == mid else {
            return "frame \(frame.number) of section \(frame.mid) came out of section \(mid)"
        }
        guard let last else {
            return frame.isKeyFrame || !frame.format.isVideo ? nil : "the first frame is no key frame"
        }
        guard frame.number > last.frame.number else {
            return "frame \(frame.number) came after frame \(last.frame.number)"
        }
        let ticks = frame.format.isVideo ? CountedFrame.videoTicks : CountedFrame.audioTicks
        let elapsed = UInt32(frame.number - last.frame.number) &* ticks
        if encoded.timestamp &- last.timestamp != elapsed {
            guard awaitsNewSource else { return "frame \(frame.number) has a wrong timestamp" }
            awaitsNewSource = false
        }
        if frame.number > last.frame.number + 1 {
            skips += 1
            // A delta frame is made from the one before it.
            if frame.format.isVideo, !frame.isKeyFrame {
                return "frame \(frame.number) after \(last.frame.number) cannot be decoded"
            }
        }
        return nil
    }

    /// The longest time without a frame.
    var longestPause: Interval {
        zip(arrivals, arrivals.dropFirst()).map { $1 - $0 }.max() ?? .zero
    }
}
