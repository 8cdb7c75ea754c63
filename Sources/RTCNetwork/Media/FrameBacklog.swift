internal import RTCEngine

/// Frames that a listener has not taken yet. When there are too many, decoding goes on at a later key frame: at the
/// next one that waits here, or at one that has yet to come.
struct FrameBacklog {
    /// What an added frame has led to.
    struct Outcome: Equatable {
        /// How many frames were dropped, the added one perhaps among them.
        var dropped = 0
        /// Nothing can be taken until a key frame comes.
        var wantsKeyFrame = false
    }

    /// Half a minute of video, or twenty seconds of sound.
    static let frameLimit = 1_024
    /// Half a minute of video at two megabits a second.
    static let byteLimit = 8 << 20

    private var frames: [EncodedFrame?] = []
    private var head = 0
    private var awaitsKeyFrame = false
    /// Of the payloads.
    private(set) var byteCount = 0

    var count: Int { frames.count - head }

    mutating func append(_ frame: EncodedFrame) -> Outcome {
        if awaitsKeyFrame, !frame.isKeyFrame { return Outcome(dropped: 1, wantsKeyFrame: true) }
        awaitsKeyFrame = false
        frames.append(frame)
        byteCount += frame.payload.count
        var outcome = Outcome()
        guard isTooLong else { return outcome }
        repeat {
            _ = popFirst()
            outcome.dropped += 1
        } while count > 0 && (isTooLong || !startsWithKeyFrame)
        // A key frame that is larger than all that may wait is no beginning either.
        awaitsKeyFrame = count == 0
        outcome.wantsKeyFrame = awaitsKeyFrame
        return outcome
    }

    mutating func popFirst() -> EncodedFrame? {
        guard head < frames.count, let frame = frames[head] else { return nil }
        frames[head] = nil
        head += 1
        byteCount -= frame.payload.count
        if head == frames.count || head >= Self.frameLimit {
            frames.removeFirst(head)
            head = 0
        }
        return frame
    }

    private var isTooLong: Bool { count > Self.frameLimit || byteCount > Self.byteLimit }

    private var startsWithKeyFrame: Bool { head < frames.count && frames[head]?.isKeyFrame == true }
}
