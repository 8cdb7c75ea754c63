public import RTCEngine

/// Determines the highest quality of a track that any subscriber wants, so that the publisher does not encode layers
/// that are not used (LiveKit's dynacast).
///
/// A higher quality is reported at once, because a subscriber waits for it. A lower one is reported after `delay`: a
/// subscriber that scrolls past a picture, or whose estimate dips, will want it again soon, and a layer that starts
/// again costs a key frame.
public struct Dynacast: Sendable {
    /// How long a lower quality has to be enough before the publisher is told.
    public static let delay = Interval.seconds(Int64(5))
    /// How long a new track waits for its first subscriber before the publisher is told that nothing is wanted.
    public static let firstDelay = Interval.seconds(Int64(10))

    private enum State: Sendable {
        case settled
        /// A lower quality is wanted; the publisher is told at this time, if it still is.
        case falling(at: Instant)
    }

    /// How many subscribers want each quality.
    private var counts = [Int](repeating: 0, count: VideoQuality.allCases.count)
    private var state = State.settled
    /// What the publisher was told last.
    public private(set) var told: VideoQuality

    /// - Parameters:
    ///   - told: what the publisher sends before it is told anything.
    ///   - published: when the track was published. Without a subscriber it is switched off after `firstDelay`; with
    ///     nil it is not.
    public init(told: VideoQuality = .high, published: Instant? = nil) {
        self.told = told
        if let published { state = .falling(at: published + Self.firstDelay) }
    }

    /// The highest quality that anybody wants.
    public var wanted: VideoQuality {
        VideoQuality.allCases.last { counts[Int($0.rawValue)] > 0 } ?? .off
    }

    /// A subscriber wants something else than before.
    ///
    /// - Parameters:
    ///   - old: nil for a new subscriber.
    ///   - new: nil when the subscriber leaves; `off` while it does not show the track.
    /// - Returns: what the publisher is to be told now; nil when that is nothing.
    public mutating func changed(from old: VideoQuality?, to new: VideoQuality?, at now: Instant) -> VideoQuality? {
        if let old { counts[Int(old.rawValue)] = max(counts[Int(old.rawValue)] - 1, 0) }
        if let new { counts[Int(new.rawValue)] += 1 }
        let wanted = wanted
        if wanted >= told {
            state = .settled
            guard wanted > told else { return nil }
            told = wanted
            return wanted
        }
        if case .settled = state { state = .falling(at: now + Self.delay) }
        return nil
    }

    /// Time passes.
    ///
    /// - Returns: what the publisher is to be told now; nil when that is nothing.
    public mutating func tick(at now: Instant) -> VideoQuality? {
        guard case .falling(let time) = state, now >= time else { return nil }
        state = .settled
        told = wanted
        return told
    }

    public var nextWake: Instant? {
        switch state {
        case .settled: nil
        case .falling(let time): time
        }
    }
}
