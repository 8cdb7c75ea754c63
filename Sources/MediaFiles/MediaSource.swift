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
    /// How far that frame's place in the file is ahead of `clock`, by jumps.
    private var leadTicks: Int64 = 0
    /// When the first frame of the track is due, in ticks: other tracks of its file may begin before it.
    private let start: Int64
    /// Whether a frame has been given.
    public private(set) var hasBegun = false
    /// From the track's first frame in one round of a loop to that in the next. Never less than the track, and what is
    /// before it.
    private let round: Int64
    /// What a round lasts beyond the track's last frame.
    private let rest: Int64

    /// - Parameter roundLength: How long a round of a loop is at least: tracks of one file that differ in length stay
    ///   side by side when it is that of the longest one. Nil: as long as the track.
    public init(track: MediaTrack, ending: Ending = .loop, roundLength: Interval? = nil) {
        self.track = track
        self.ending = ending
        let rate = Int64(track.format.clockRate)
        start = track.frames.first?.decodeTime ?? 0
        clock = start
        let length = track.frames.reduce(0) { $0 + max(0, $1.duration) }
        // A track of frames without a duration would loop at one instant for ever.
        let least = length > 0 ? length : rate / 50
        round = max(start + least, (roundLength ?? .zero).ticks(at: rate))
        rest = round - length
    }

    /// How far the source is ahead of the time that has passed: what its jumps to key frames have left out.
    public var lead: Interval { Interval(ticks: leadTicks, at: Int64(track.format.clockRate)) }

    /// What the frames are.
    public var format: PayloadFormat { track.format }

    /// How long after the file's start the next frame is to be sent; nil when the source has ended.
    public var nextDue: Interval? {
        guard position < track.frames.count else { return nil }
        return Interval(ticks: clock, at: Int64(track.format.clockRate))
    }

    /// The next frame; nil when the source has ended.
    public mutating func next() -> EncodedFrame? {
        guard position < track.frames.count else { return nil }
        let frame = track.frames[position]
        let timestamp = UInt32(truncatingIfNeeded: clock + frame.presentationOffset)
        hasBegun = true
        clock += max(0, frame.duration)
        position += 1
        if position == track.frames.count, case .loop = ending {
            position = 0
            clock += rest
        }
        var encoded = EncodedFrame(
            payload: frame.payload, timestamp: timestamp, isKeyFrame: frame.isKeyFrame, format: track.format)
        encoded.metadata.orientation = track.orientation
        return encoded
    }

    /// Answers a key-frame request: jumps to the next key frame from here, so that `next()` gives it. Its timestamp
    /// continues as if the frames between did not exist, and `nextDue` is unchanged: a file cannot encode a key
    /// frame, but it can go where one is. A looping source goes on to the one at the start. Tracks that were beside
    /// this one are brought there by `follow(lead:)`.
    /// - Returns: false when no key frame is ahead; nothing has changed then.
    @discardableResult
    public mutating func skipToKeyFrame() -> Bool {
        guard let index = nextKeyFrame(from: position) else { return false }
        leadTicks += distance(to: index)
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

    /// Goes where another track of the same file is, after that one jumped: to the frame that belongs beside it. Every
    /// frame of this track has to be a place to begin, as those of sound are. Timestamps continue; what has not begun
    /// is due sooner.
    public mutating func follow(lead: Interval) {
        let wanted = lead.ticks(at: Int64(track.format.clockRate))
        guard position < track.frames.count, wanted != leadTicks else { return }
        if !hasBegun {
            // So much sooner, but not before the file: there it begins further on.
            clock = max(0, start - wanted)
            leadTicks = start - clock
            position = 0
        }
        // Where in its round the frame at the wanted lead is, if this one is at its own.
        var place = track.frames[position].decodeTime + wanted - leadTicks
        switch ending {
        case .loop: place = ((place % round) + round) % round
        case .stop: place = max(0, place)
        }
        guard place >= start else {
            // Before the track's first frame: silence until it comes.
            clock += start - place
            position = 0
            leadTicks = wanted
            return
        }
        let last = track.frames[track.frames.count - 1]
        guard place < last.decodeTime + max(1, last.duration) else {
            // Behind the track's end: silence until the next round, or for ever.
            guard case .loop = ending else { return position = track.frames.count }
            clock += round - place + start
            position = 0
            leadTicks = wanted
            return
        }
        // The last frame that begins at or before the place.
        var (low, high) = (0, track.frames.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if track.frames[middle].decodeTime <= place { low = middle } else { high = middle }
        }
        leadTicks = wanted - (place - track.frames[low].decodeTime)
        position = low
    }

    /// Goes after another source that holds the same picture in another size, and key frames at the same times: to
    /// further key frames, until it has left out about as much.
    public mutating func keepUp(lead: Interval) {
        let rate = Int64(track.format.clockRate)
        let wanted = lead.ticks(at: rate)
        // Each of the two may be a few frames further when it jumps.
        let slack = rate / 4
        while wanted - leadTicks > slack, let index = nextKeyFrame(from: position + 1) {
            leadTicks += index == position ? round : distance(to: index)
            position = index
        }
    }

    /// From the frame that is next to another one, forwards, in ticks.
    private func distance(to index: Int) -> Int64 {
        let ticks = track.frames[index].decodeTime - track.frames[position].decodeTime
        return index < position ? ticks + round : ticks
    }
}

extension Interval {
    /// Seconds and the rest apart: a source that loops for months must not overflow.
    fileprivate init(ticks: Int64, at rate: Int64) {
        self.init(nanoseconds: ticks / rate * 1_000_000_000 + ticks % rate * 1_000_000_000 / rate)
    }

    fileprivate func ticks(at rate: Int64) -> Int64 {
        // To the nearest tick: an interval of whole ticks comes back as itself.
        nanoseconds / 1_000_000_000 * rate + (nanoseconds % 1_000_000_000 * rate + 500_000_000) / 1_000_000_000
    }
}
