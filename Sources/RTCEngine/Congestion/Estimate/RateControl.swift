/// The rate that the delay allows: up while the path is used normally, down to 85 % of what arrives when its queue
/// grows (AIMD; draft-ietf-rmcat-gcc-02 §5.5).
struct RateControl {
    private enum State {
        case hold, increase, decrease
    }

    /// §5.5: what is left of the incoming rate after overuse.
    private static let decrease = 0.85
    /// §5.5: far from the capacity, 8 % a second.
    private static let growth = 0.08
    /// §5.5: no further above what arrives than half, and some for small rates.
    private static let headroom = 1.5
    private static let smallHeadroom = Bitrate.kilobits(10)
    private static let slowestGrowth = 4_000.0
    private static let packetBits = 1_200.0 * 8

    private(set) var rate: Bitrate
    private let minimum: Bitrate
    private var state = State.hold
    private var capacity = LinkCapacity()
    private var lastChange: Instant?
    private var lastDecrease: Instant?

    init(start: Bitrate, minimum: Bitrate) {
        rate = start
        self.minimum = minimum
    }

    /// A probe or a fresh start says what the path carries.
    mutating func set(_ rate: Bitrate, at now: Instant) {
        self.rate = max(rate, minimum)
        lastChange = now
    }

    /// Whether it is known what the path carries when it is full.
    var hasCapacity: Bool { capacity.estimate != nil }

    /// A probe has shown that the path carries more than it did when it was last full.
    mutating func pathHasGrown() { capacity.reset() }

    /// Whether overuse is to be answered now: its effect must show before it is answered again, unless half of what is
    /// sent arrives.
    func mayDecrease(acknowledged: Bitrate?, roundTrip: Interval, at now: Instant) -> Bool {
        guard let lastDecrease else { return true }
        if now - lastDecrease >= min(max(roundTrip, .milliseconds(10)), .milliseconds(200)) { return true }
        return acknowledged.map { $0 < rate * 0.5 } ?? false
    }

    /// - Parameter acknowledged: what arrives; nil before it is known.
    mutating func update(_ use: PathUse, acknowledged: Bitrate?, roundTrip: Interval, at now: Instant) {
        switch (use, state) {
        case (.over, _): state = .decrease
        // The queue drains: nothing is changed until it is empty.
        case (.under, _): state = .hold
        case (.normal, .hold):
            lastChange = now
            state = .increase
        case (.normal, .increase), (.normal, .decrease): break
        }
        switch state {
        case .hold: return
        case .increase: increase(acknowledged: acknowledged, roundTrip: roundTrip, at: now)
        case .decrease:
            decrease(acknowledged: acknowledged, at: now)
            state = .hold
        }
    }

    private mutating func increase(acknowledged: Bitrate?, roundTrip: Interval, at now: Instant) {
        if let acknowledged, capacity.isExceeded(by: acknowledged) { capacity.reset() }
        let elapsed = min(max((now - (lastChange ?? now)).seconds, 0), 1)
        lastChange = now
        let step =
            capacity.estimate == nil
            ? max(rate.value * Self.growth * elapsed, 1_000 * elapsed)
            : additiveGrowth(roundTrip) * elapsed
        let limit = acknowledged.map { $0 * Self.headroom + Self.smallHeadroom } ?? rate
        guard rate < limit else { return }
        rate = min(Bitrate(bitsPerSecond: rate.value + step), limit)
    }

    /// §5.5: near the capacity, half a packet a response time. In bits a second, a second.
    private func additiveGrowth(_ roundTrip: Interval) -> Double {
        let frameBits = rate.value / 30
        let packets = max((frameBits / Self.packetBits).rounded(.up), 1)
        let response = roundTrip.seconds + 0.1
        return max(frameBits / packets / response, Self.slowestGrowth)
    }

    private mutating func decrease(acknowledged: Bitrate?, at now: Instant) {
        lastChange = now
        lastDecrease = now
        guard let acknowledged else {
            rate = max(rate * 0.5, minimum)
            return
        }
        var lower = acknowledged * Self.decrease
        // More arrives than the rate allows: the queue of the path empties, or a probe passed. The capacity knows
        // better.
        if lower > rate, let known = capacity.estimate { lower = known * Self.decrease }
        if capacity.isFarAbove(acknowledged) { capacity.reset() }
        capacity.add(acknowledged)
        if lower < rate { rate = max(lower, minimum) }
    }
}
