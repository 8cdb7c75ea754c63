/// A rate limit: tokens refill steadily up to a burst, each use takes some.
struct TokenBucket: Sendable {
    private let perSecond: Double
    private let burst: Double
    private var tokens: Double
    private var filledAt: ContinuousClock.Instant

    init(perSecond: Double, burst: Double, at now: ContinuousClock.Instant) {
        self.perSecond = perSecond
        self.burst = burst
        self.tokens = burst
        self.filledAt = now
    }

    /// Takes `count` tokens; false, and nothing taken, if there are not enough.
    mutating func take(_ count: Double, at now: ContinuousClock.Instant) -> Bool {
        if burst == .infinity { return true }
        // Not by `components`, whose division of 128 bits would be the dearest step of a short message.
        let elapsed = Double((now - filledAt).attoseconds) * 1e-18
        if elapsed > 0 {
            tokens = min(burst, tokens + elapsed * perSecond)
            filledAt = now
        }
        guard tokens >= count else { return false }
        tokens -= count
        return true
    }
}
