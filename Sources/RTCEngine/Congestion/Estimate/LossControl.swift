/// The rate that losses allow, in the manner of libwebrtc's second loss-based estimator: of a few guesses about the
/// path (`LossModel`) the one is taken that explains the last five seconds best.
///
/// draft-ietf-rmcat-gcc-02 §6 takes every loss for congestion: above 2 % it stops growing and above 10 % it falls,
/// which leaves a call on a radio link with 5 % loss at the rate that it began with. A model that knows of loss without
/// congestion does not. `ReportedLossControl` is the draft's, for peers that only send receiver reports.
struct LossControl {
    private static let factors = [1.02, 1.0, 0.95]
    /// While losses limit, no further above what arrives.
    private static let rampUp = 1.5
    /// After a decrease, growth waits until its effect is seen.
    private static let pause = Interval.milliseconds(300)
    /// A share of losses that is never a path's own, whatever the model says: then the rate is bounded at once.
    private static let alarmingLoss = 0.05
    private static let alarmingBalance = 75_000.0
    /// Fewer observations say nothing.
    private static let fewest = 3
    /// Whoever sends less than the limit, since the next layer does not fit below it, cannot show that there is room
    /// for more: with so few losses, or none known for so long, a probe may.
    private static let fewLosses = 0.02
    private static let memory = Interval.seconds(Int64(5))

    private var observations = LossObservations()
    private var model: LossModel?
    private var lastDecrease: Instant?
    /// Nil while losses do not limit.
    private(set) var limit: Bitrate?
    private(set) var lossRatio = 0.0
    private var lastUpdate: Instant?
    /// When the path said nothing any more.
    private var silentAt: Instant?

    /// Whether nothing is lost now, though losses may still limit.
    func isCalm(at now: Instant) -> Bool {
        if let silentAt, now - silentAt < Self.memory { return false }
        guard limit != nil, let lastUpdate else { return true }
        return lossRatio < Self.fewLosses || now - lastUpdate > Self.memory
    }

    /// Forgets everything: the path is another one.
    mutating func reset() { self = LossControl() }

    /// A silent path: what was sent is taken for lost, and the guess is lowered.
    mutating func backOff(to rate: Bitrate, at now: Instant) {
        model = LossModel(bandwidth: rate.value)
        limit = rate
        lastDecrease = now
        silentAt = now
    }

    /// - Parameters:
    ///   - results: in the order of sending.
    ///   - delayBased: what the delay allows: never more than this.
    ///   - acknowledged: what arrives; nil before it is known.
    mutating func update(
        _ results: [TransportFeedbackTracker.PacketResult], delayBased: Bitrate, acknowledged: Bitrate?,
        minimum: Bitrate, at now: Instant
    ) {
        if let lastUpdate, now - lastUpdate > Self.memory {
            // What was lost before the pause is no reason any more.
            observations.removeAll()
            lossRatio = 0
        }
        lastUpdate = now
        silentAt = nil
        var isComplete = false
        for result in results where observations.add(result) { isComplete = true }
        var current = model ?? LossModel(bandwidth: delayBased.value)
        guard isComplete, observations.count >= Self.fewest else {
            // The delay's estimate leads as long as losses do not limit.
            if limit == nil { current.bandwidth = delayBased.value }
            model = current
            return bound(delayBased: delayBased)
        }
        lossRatio = observations.lossRatio
        if limit == nil { current.bandwidth = delayBased.value }
        if limit == nil, lossRatio == 0 {
            // All guesses explain it alike, and of those the one with the most bandwidth is taken.
            current.fit(to: observations)
            model = current
            return
        }
        var best = choose(from: current, delayBased: delayBased, acknowledged: acknowledged)
        best.bandwidth = min(max(best.bandwidth, minimum.value), delayBased.value)
        if best.bandwidth > current.bandwidth {
            let isTooEarly = lastDecrease.map { now - $0 < Self.pause } ?? false
            if isTooEarly || lossRatio > best.inherentLoss { best.bandwidth = current.bandwidth }
        } else if best.bandwidth < current.bandwidth {
            lastDecrease = now
        }
        model = best
        limit = best.bandwidth < delayBased.value ? Bitrate(bitsPerSecond: best.bandwidth) : nil
        bound(delayBased: delayBased)
    }

    /// A probe has come through at this rate: losses do not limit below it.
    mutating func probed(_ rate: Bitrate, delayBased: Bitrate) {
        guard let known = limit, rate > known, lossRatio < Self.alarmingLoss else { return }
        let proven = min(rate, delayBased)
        model?.bandwidth = proven.value
        limit = proven < delayBased ? proven : nil
    }

    private func choose(from current: LossModel, delayBased: Bitrate, acknowledged: Bitrate?) -> LossModel {
        let ceiling =
            limit == nil
            ? delayBased.value : max(current.bandwidth, (acknowledged?.value ?? .infinity) * Self.rampUp)
        var best = current
        var bestLikelihood = -Double.infinity
        func consider(_ bandwidth: Double) {
            var candidate = current
            candidate.bandwidth = min(bandwidth, ceiling)
            candidate.fit(to: observations)
            let likelihood = candidate.likelihood(of: observations, lossRatio: lossRatio)
            guard likelihood > bestLikelihood else { return }
            best = candidate
            bestLikelihood = likelihood
        }
        for factor in Self.factors { consider(current.bandwidth * factor) }
        if let acknowledged { consider(acknowledged.value) }
        consider(delayBased.value)
        return best
    }

    private mutating func bound(delayBased: Bitrate) {
        if let known = limit, known >= delayBased { limit = nil }
        guard lossRatio > Self.alarmingLoss else { return }
        let ceiling = Bitrate(bitsPerSecond: Self.alarmingBalance / (lossRatio - Self.alarmingLoss))
        guard ceiling < min(limit ?? delayBased, delayBased) else { return }
        limit = ceiling
        model?.bandwidth = ceiling.value
    }
}
