/// What the delay says about the use of the path (draft-ietf-rmcat-gcc-02 §5.4).
enum PathUse: Hashable, Sendable {
    case normal
    /// Its queue grows.
    case over
    /// Its queue drains.
    case under
}

/// Compares the delay's trend with a threshold that adapts (§5.4): it follows a trend that stays, so that a flow that
/// fills the queue on purpose (TCP) does not starve us, and one spike does not move it.
struct OveruseDetector {
    /// §5.4's gains: the threshold grows slowly and falls quickly, per millisecond.
    private static let growth = 0.0087
    private static let fall = 0.039
    /// §5.4: in milliseconds.
    private static let range = 6.0...600.0
    /// §5.4: a trend so far beyond the threshold is an outlier, which the threshold does not follow.
    private static let outlier = 15.0
    /// §5.4: overuse has to last.
    private static let shortestOveruse = Interval.milliseconds(10)

    private(set) var state = PathUse.normal
    private(set) var threshold = 12.5
    private var overSince: Interval?
    private var overGroups = 0
    private var previousTrend = 0.0
    private var lastUpdate: Instant?

    /// - Parameters:
    ///   - trend: as `DelayTrend` tells it.
    ///   - sent: how long after its predecessor the group left.
    ///   - now: when the group arrived.
    mutating func add(trend: Double, sent: Interval, at now: Instant) -> PathUse {
        if trend > threshold {
            // Half of the first group's time is taken to be over the threshold.
            let lasting = overSince.map { $0 + sent } ?? sent / 2
            overSince = lasting
            overGroups += 1
            if lasting > Self.shortestOveruse, overGroups > 1, trend >= previousTrend {
                overSince = .zero
                overGroups = 0
                state = .over
            }
        } else {
            overSince = nil
            overGroups = 0
            state = trend < -threshold ? .under : .normal
        }
        previousTrend = trend
        adapt(to: abs(trend), at: now)
        return state
    }

    private mutating func adapt(to trend: Double, at now: Instant) {
        let elapsed = min(max((now - (lastUpdate ?? now)).milliseconds, 0), 100)
        lastUpdate = now
        guard trend <= threshold + Self.outlier else { return }
        let gain = trend < threshold ? Self.fall : Self.growth
        threshold += gain * (trend - threshold) * elapsed
        threshold = min(max(threshold, Self.range.lowerBound), Self.range.upperBound)
    }
}
