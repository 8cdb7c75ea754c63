package import RTCEngine

/// How often something may be done: `burst` times at once, and from then on once in each `interval` (a token bucket).
/// All that has to be kept is one moment, `spent`; a caller that limits many clients keeps one for each.
package struct Pace: Sendable, Equatable {
    /// At least 1.
    package let burst: Int
    /// After which it may be done once more.
    package let interval: Interval

    package init(burst: Int, interval: Interval) {
        self.burst = max(burst, 1)
        self.interval = max(interval, .zero)
    }

    /// `perSecond` times a second, and `burst` times at once.
    package init(perSecond: Double, burst: Int) {
        self.init(burst: burst, interval: .seconds(1 / max(perSecond, 1e-6)))
    }

    /// Counts it once more if it may be done now.
    ///
    /// - Parameter spent: when the full burst is available again; nil when nothing was done yet.
    /// - Returns: nil when it may be done: `spent` has moved. Otherwise how long to wait: `spent` is as it was.
    package func take(_ spent: inout Instant?, at now: Instant) -> Interval? {
        if let wait = wait(spent, at: now) { return wait }
        spent = max(spent ?? now, now) + interval
        return nil
    }

    /// How long to wait; nil when it may be done now.
    package func wait(_ spent: Instant?, at now: Instant) -> Interval? {
        guard let spent else { return nil }
        let wait = spent - now - interval * Int64(burst - 1)
        return wait > .zero ? wait : nil
    }
}

/// A pace for each of many keys, such as addresses. A key whose full burst is available again is forgotten. At most
/// `limit` keys are remembered; all others share one pace.
package struct Paces<Key: Hashable & Sendable>: Sendable {
    package let pace: Pace
    private let limit: Int
    private var spent: [Key: Instant] = [:]
    private var spentByOthers: Instant?
    private var sweptAt: Instant?

    package init(_ pace: Pace, limit: Int) {
        self.pace = pace
        self.limit = max(limit, 1)
    }

    /// How many keys are remembered.
    package var count: Int { spent.count }

    /// As `Pace.take`, for one key.
    package mutating func take(_ key: Key, at now: Instant) -> Interval? {
        if spent[key] == nil, spent.count >= limit { forgetQuiet(at: now) }
        guard spent[key] != nil || spent.count < limit else { return pace.take(&spentByOthers, at: now) }
        return pace.take(&spent[key], at: now)
    }

    /// Looks through all keys. Not at each request: with many keys, every request would be expensive.
    private mutating func forgetQuiet(at now: Instant) {
        if let sweptAt, now - sweptAt < max(pace.interval, .milliseconds(100)) { return }
        sweptAt = now
        spent = spent.filter { $0.value > now }
    }
}
