import RTCWire

/// When a frame is due at the player: the sender's media clock laid over ours by the quickest packet seen, plus a
/// delay that follows the jitter.
struct PlayoutClock: Sendable {
    private let delay: PlayoutDelay
    private var unwrapper = TimestampUnwrapper()
    /// The smallest difference between arrival and timestamp, in nanoseconds.
    private var floor: Int64?
    private var clockRate: UInt32 = 0
    private var lastObserved: Instant?

    /// How fast the floor may rise, so that it follows a path that became longer or a clock that drifts.
    private static let risePerSecond = 0.002
    /// Ticks from the origin: far beyond any call, and at any clock rate from 1,000 on within nanoseconds of 64 bits.
    private static let farthest: Int64 = 1 << 42

    init(delay: PlayoutDelay) { self.delay = delay }

    mutating func reset() {
        unwrapper = TimestampUnwrapper()
        floor = nil
        lastObserved = nil
    }

    mutating func observe(timestamp: UInt32, clockRate: UInt32, at now: Instant) {
        guard case .adaptive = delay, clockRate > 0 else { return }
        if clockRate != self.clockRate {
            reset()
            self.clockRate = clockRate
        }
        // A peer whose timestamps leap on and on would lead the arithmetic out of its range: begin anew.
        if let last = unwrapper.last, abs(last) > Self.farthest { reset() }
        let media = Interval(ticks: unwrapper.unwrap(timestamp), clockRate: clockRate)
        let difference = now.nanoseconds - media.nanoseconds
        let elapsed = lastObserved.map { (now - $0).seconds } ?? 0
        lastObserved = now
        let risen = floor.map { $0 + Int64(elapsed * Self.risePerSecond * 1e9) } ?? difference
        // The sender's timestamps may jump; a second out of step means a new timeline.
        floor = difference - risen > 1_000_000_000 ? difference : min(risen, difference)
    }

    /// When a frame is to be released; nil: at once.
    ///
    /// - Parameter arrivedAt: when its first packet came. Where the source's timestamps have leapt since, the clock
    ///   says nothing about this one, which waits no longer than the delay.
    func due(timestamp: UInt32, arrivedAt: Instant, jitter: Interval) -> Instant? {
        switch delay {
        case .none: return nil
        case .adaptive(let minimum, let maximum):
            guard let floor else { return nil }
            var unwrapper = unwrapper
            let media = Interval(ticks: unwrapper.unwrap(timestamp), clockRate: clockRate)
            let wanted = min(max(jitter * 4, minimum), max(minimum, maximum))
            return min(Instant(nanoseconds: floor) + media, arrivedAt) + wanted
        }
    }
}
