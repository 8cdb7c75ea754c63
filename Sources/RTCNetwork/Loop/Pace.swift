package import RTCEngine

/// How often something may be done: so many times at once, and from then on once in each interval. A moment tells all
/// that there is to remember of what was done, so that whoever has many to look after keeps one for each.
package struct Pace: Sendable, Equatable {
    package let burst: Int
    package let interval: Interval

    package init(burst: Int, interval: Interval) {
        self.burst = max(burst, 1)
        self.interval = max(interval, .zero)
    }

    /// So many times a second, and `burst` times at once.
    package init(perSecond: Double, burst: Int) {
        self.init(burst: burst, interval: .seconds(1 / max(perSecond, 1e-6)))
    }

    /// Does it once more, or says when it may be.
    ///
    /// - Parameter spent: when all that was done is made up for; nil when nothing was.
    /// - Returns: how long to wait, without anything having changed then; nil when it may be done, and counts.
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

/// A pace for each of many, such as addresses. Who has done nothing for a while is forgotten, and of those who are
/// remembered there are no more than so many: further ones share one pace among them.
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

    /// How many are remembered.
    package var count: Int { spent.count }

    /// As `Pace.take`, for one of them.
    package mutating func take(_ key: Key, at now: Instant) -> Interval? {
        if spent[key] == nil, spent.count >= limit { forgetQuiet(at: now) }
        guard spent[key] != nil || spent.count < limit else { return pace.take(&spentByOthers, at: now) }
        return pace.take(&spent[key], at: now)
    }

    /// Looks through all of them: not with each request, for then a crowd would make every one of them dear.
    private mutating func forgetQuiet(at now: Instant) {
        if let sweptAt, now - sweptAt < max(pace.interval, .milliseconds(100)) { return }
        sweptAt = now
        spent = spent.filter { $0.value > now }
    }
}
