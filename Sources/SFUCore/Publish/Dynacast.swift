public import RTCEngine

/// Finds out up to which quality anybody wants a track, so that its publisher stops making what nobody watches
/// (LiveKit's dynacast).
///
/// More is told at once, for somebody waits for it. Less is told after a delay: who scrolls past a picture, or whose
/// estimate dips, will want it again soon, and a layer that begins anew costs a key frame.
public struct Dynacast: Sendable {
    public static let delay = Interval.seconds(Int64(5))
    /// So long the first subscriber of a new track is waited for.
    public static let firstDelay = Interval.seconds(Int64(10))

    private enum State: Sendable {
        case settled
        /// Fewer layers are wanted since some time; they go when it is over.
        case falling(at: Instant)
    }

    /// How many subscribers want each quality.
    private var counts = [Int](repeating: 0, count: VideoQuality.allCases.count)
    private var state = State.settled
    /// What the publisher was told last.
    public private(set) var told: VideoQuality

    /// - Parameters:
    ///   - told: what the publisher sends before it is told anything.
    ///   - published: when the track was published: nobody wants it yet, and perhaps nobody will.
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
    ///   - new: nil when it leaves; `off` while it looks away.
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
