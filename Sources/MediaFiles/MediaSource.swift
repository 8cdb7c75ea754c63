public import RTCEngine
public import RTCWire

/// Plays a track: hands out its frames one by one with timestamps that never go back, through loops and jumps. It
/// owns no clock: the caller sends `next()` when `nextDue` has come.
public struct MediaSource: Sendable {
    /// What happens after the last frame.
    public enum Ending: Sendable {
        /// The first frame follows; timestamps go on.
        case loop
        /// Nothing follows: `nextDue` is nil.
        case stop
    }

    /// What is played.
    public let track: MediaTrack
    /// What happens after the last frame.
    public let ending: Ending
    /// Index of the frame that `next()` gives; `track.frames.count` at the end.
    public private(set) var position = 0
    /// The decoding time of that frame as the receiver sees it, in ticks.
    private var clock: Int64 = 0

    public init(track: MediaTrack, ending: Ending = .loop) {
        self.track = track
        self.ending = ending
    }

    /// What the frames are.
    public var format: PayloadFormat { track.format }

    /// How long after the first frame the next one is to be sent; nil when the source has ended.
    public var nextDue: Interval? {
        guard position < track.frames.count else { return nil }
        let rate = Int64(track.format.clockRate)
        // Seconds and the rest apart: a source that loops for months must not overflow.
        return Interval(nanoseconds: clock / rate * 1_000_000_000 + clock % rate * 1_000_000_000 / rate)
    }

    /// The next frame; nil when the source has ended.
    public mutating func next() -> EncodedFrame? {
        guard position < track.frames.count else { return nil }
        let frame = track.frames[position]
        let timestamp = UInt32(truncatingIfNeeded: clock + frame.presentationOffset)
        clock += frame.duration
        position += 1
        if position == track.frames.count, case .loop = ending {
            position = 0
            // A track of frames without a duration would loop at one instant for ever.
            if track.frames.allSatisfy({ $0.duration <= 0 }) { clock += Int64(track.format.clockRate / 50) }
        }
        return EncodedFrame(
            payload: frame.payload, timestamp: timestamp, isKeyFrame: frame.isKeyFrame, format: track.format)
    }

    /// Answers a key-frame request: jumps to the next key frame from here, so that `next()` gives it. Its timestamp
    /// continues as if the frames between did not exist, and `nextDue` is unchanged: a file cannot encode a key
    /// frame, but it can go where one is. A looping source goes on to the one at the start.
    /// - Returns: false when no key frame is ahead; nothing has changed then.
    @discardableResult
    public mutating func skipToKeyFrame() -> Bool {
        guard let index = nextKeyFrame(from: position) else { return false }
        position = index
        return true
    }

    /// Index of the first key frame at or after `index`, around the end when the source loops; nil when there is none.
    public func nextKeyFrame(from index: Int) -> Int? {
        let ahead = track.frames.indices.dropFirst(max(0, index)).first { track.frames[$0].isKeyFrame }
        if let ahead { return ahead }
        switch ending {
        case .loop: return track.frames.firstIndex { $0.isKeyFrame }
        case .stop: return nil
        }
    }

    /// Continues from another place of the track: from the last key frame at or before it, as a decoder can begin
    /// nowhere else. Timestamps continue.
    public mutating func seek(to time: Interval) {
        let ticks = Int64(time.seconds * Double(track.format.clockRate))
        let last = track.frames.lastIndex { $0.isKeyFrame && $0.decodeTime <= ticks }
        position = last ?? nextKeyFrame(from: 0) ?? position
    }
}
