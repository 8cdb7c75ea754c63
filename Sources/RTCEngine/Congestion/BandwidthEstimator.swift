import RTCWire

/// How much the path to the peer carries, from what the peer tells about the packets' arrival. The least of what delay,
/// losses and the peer allow (draft-ietf-rmcat-gcc-02, and libwebrtc where it has left the draft behind; see
/// docs/decisions/0017).
struct BandwidthEstimator {
    private(set) var target: Bitrate
    private var limited = LimitedSending()
    private var silence = SilenceWatch()
    /// From the feedback: the time from a packet's departure to the news of its arrival, smoothed.
    private(set) var roundTrip = Interval.milliseconds(100)

    private let configuration: CongestionConfiguration
    private var began: Instant

    private var groups = PacketGroups()
    private var trend = DelayTrend()
    private var detector = OveruseDetector()
    private var delayControl: RateControl
    private var lossControl = LossControl()
    private var reported: ReportedLossControl
    private(set) var acknowledgedBitrate = AcknowledgedBitrate()
    private var probes = ProbeResults()
    private var arrivals: [TransportFeedbackTracker.PacketResult] = []
    private var lastGroupAt: Instant?
    /// The last rise that a probe has brought.
    private var rise: (to: Bitrate, at: Instant)?
    /// The highest rate of the last seconds.
    private var peak: (rate: Bitrate, at: Instant)?
    private var standingQueue = StandingQueue()

    /// - Parameter began: since when the path is the one that is estimated; what was sent before is not looked at.
    init(_ configuration: CongestionConfiguration, since began: Instant = Instant(nanoseconds: .min)) {
        self.configuration = configuration
        self.began = began
        target = configuration.startBitrate
        delayControl = RateControl(start: configuration.startBitrate, minimum: configuration.minimumBitrate)
        reported = ReportedLossControl(start: configuration.startBitrate)
    }

    /// Whether the peer tells when packets arrive.
    var hasFeedback: Bool { silence.hasHeard }
    /// What the peer estimates, if it does.
    var peerEstimate: Bitrate? { reported.peerEstimate }
    var isLimited: Bool { limited.isLimited }
    var lossRatio: Double { lossControl.lossRatio }
    var isLossLimited: Bool { lossControl.limit != nil }
    /// Whether the path was seen to be full, and has not been seen to carry more since.
    var hasBeenFull: Bool { delayControl.hasCapacity || isLossLimited || standingQueue.limit != nil }
    /// What the delay alone would allow.
    var delayBased: Bitrate { delayControl.rate }
    /// Nothing says that the path is full, or has said so lately. `mutating`: `CongestionControl.nextWake` tells why.
    mutating func isCalm(at now: Instant) -> Bool {
        let isOld = lastGroupAt.map { now - $0 > Self.forgetting } ?? true
        return (isOld || detector.state == .normal) && lossControl.isCalm(at: now)
    }

    var nextWake: Instant? { silence.deadline(roundTrip: roundTrip) }

    /// A numbered packet was handed to the network.
    ///
    /// - Returns: whether an answer is waited for since now.
    @discardableResult
    mutating func sent(_ bytes: Int, at now: Instant) -> Bool {
        if limited.sent(bytes, target: target, at: now) { acknowledgedBitrate.expectChange() }
        return silence.sent(at: now)
    }

    /// Packets of this cluster are about to be sent.
    mutating func expect(_ cluster: ProbeCluster) { probes.expect(cluster) }

    /// The peer has told of packets.
    ///
    /// - Parameter results: in the order of sending.
    /// - Returns: what a probe has shown; nil when none has come out.
    mutating func receive(_ results: [TransportFeedbackTracker.PacketResult], at now: Instant) -> Bitrate? {
        if silence.heard() {
            // What was lost in the meantime says nothing about congestion.
            comeBack(at: now)
            return nil
        }
        var results = results
        if let first = results.first, first.sentAt < began { results.removeAll { $0.sentAt < began } }
        guard !results.isEmpty else { return nil }
        measureRoundTrip(results, at: now)
        sortByArrival(results)
        var use = detector.state
        var sawOveruse = false
        var sawGroup = false
        var probed: Bitrate?
        // After silence the path's state is not the one that was left.
        if let lastGroupAt, now - lastGroupAt > Self.forgetting { resetDelay() }
        for result in arrivals {
            guard let arrivedAt = result.arrivedAt else { continue }
            acknowledgedBitrate.add(size: result.size, arrivedAt: arrivedAt, isLimited: limited.isLimited)
            if let estimate = probes.add(result) { probed = estimate }
            guard let delta = groups.add(sentAt: result.sentAt, arrivedAt: arrivedAt) else { continue }
            use = detector.add(trend: trend.add(delta), sent: delta.sent, at: delta.at)
            if use == .over { sawOveruse = true }
            sawGroup = true
        }
        if sawGroup { lastGroupAt = now }
        let acknowledged = acknowledgedBitrate.bitrate
        notePeak(at: now)
        if sawOveruse || use == .over {
            decrease(acknowledged: acknowledged, at: now)
        } else if let probed, probed > delayControl.rate {
            delayControl.pathHasGrown()
            delayControl.set(min(probed, configuration.maximumBitrate), at: now)
            acknowledgedBitrate.expectChange()
            rise = (probed, now)
        } else {
            delayControl.update(use, acknowledged: acknowledged, roundTrip: roundTrip, at: now)
        }
        if delayControl.rate > configuration.maximumBitrate { delayControl.set(configuration.maximumBitrate, at: now) }
        lossControl.update(
            results, delayBased: delayControl.rate, acknowledged: acknowledged,
            minimum: configuration.minimumBitrate, at: now)
        if let probed, !sawOveruse { lossControl.probed(probed, delayBased: delayControl.rate) }
        updateTarget()
        return probed
    }

    /// For this long, and a round trip, after a rise, the acknowledged bitrate has not caught up with it.
    private static let catchingUp = Interval.milliseconds(500)
    /// A fraction of the rate. A sender below it does not fill the path, unless the path has become narrower.
    private static let sparse = 0.8
    /// In milliseconds. A path that has become narrower soon has a longer queue than this.
    private static let shortQueue = 80.0
    /// In milliseconds: what one large packet takes at 250 kbit/s.
    private static let packetQueue = 40.0
    /// A fraction of the packets. More losses than this are a sign of a path with a short buffer.
    private static let fewLosses = 0.02
    /// A fraction of the peak rate. A rate below it means that the path has changed, and left a queue behind.
    private static let deepFall = 0.66
    /// How long a peak rate is remembered.
    private static let peakTime = Interval.seconds(Int64(3))

    private mutating func notePeak(at now: Instant) {
        guard let peak, delayControl.rate < peak.rate, now - peak.at < Self.peakTime else {
            self.peak = (delayControl.rate, now)
            return
        }
    }

    private mutating func decrease(acknowledged: Bitrate?, at now: Instant) {
        guard delayControl.mayDecrease(acknowledged: acknowledged, roundTrip: roundTrip, at: now) else { return }
        var acknowledged = acknowledged
        // What arrives is what was sent, not what the path carries: a large picture may have made the short queue.
        if let arriving = acknowledged, arriving < delayControl.rate * Self.sparse, trend.queue < Self.shortQueue {
            // Behind a short buffer there is never a long queue, but there are losses.
            guard trend.queue >= Self.packetQueue || lossControl.lossRatio > Self.fewLosses else { return }
            acknowledged = delayControl.rate
        }
        if let rise, now - rise.at < Self.catchingUp + roundTrip { acknowledged = max(acknowledged ?? .zero, rise.to) }
        delayControl.update(.over, acknowledged: acknowledged, roundTrip: roundTrip, at: now)
        if let peak, delayControl.rate < peak.rate * Self.deepFall {
            standingQueue.left(by: delayControl.rate, at: now)
        }
    }

    /// The path carries again, after it was cut.
    private var hasComeBack = false

    /// Whether everything begins anew; said once.
    mutating func takeComeBack() -> Bool {
        defer { hasComeBack = false }
        return hasComeBack
    }

    private mutating func comeBack(at now: Instant) {
        resetDelay()
        lossControl.reset()
        acknowledgedBitrate = AcknowledgedBitrate()
        rise = nil
        peak = nil
        delayControl.set(target, at: now)
        began = now
        hasComeBack = true
    }

    private static let forgetting = Interval.seconds(Int64(2))

    private mutating func resetDelay() {
        groups = PacketGroups()
        trend = DelayTrend()
        detector = OveruseDetector()
    }

    /// The peer estimates the path itself (REMB).
    mutating func receive(peerEstimate: Bitrate, at now: Instant) {
        reported.receive(peerEstimate: peerEstimate, limits: configuration.limits, at: now)
        updateTarget()
    }

    /// A block of the peer's report about a stream of ours.
    mutating func receive(_ block: ReportBlock, at now: Instant) {
        guard !silence.hasHeard else { return }
        reported.receive(block, roundTrip: roundTrip, limits: configuration.limits, at: now)
        updateTarget()
    }

    /// A round trip that was measured elsewhere, for peers without transport-wide feedback.
    mutating func note(roundTrip: Interval) {
        if !silence.hasHeard { self.roundTrip = min(max(roundTrip, .milliseconds(1)), .seconds(Int64(2))) }
    }

    /// Does what has fallen due: the path that says nothing any more is taken to be worse than it was.
    mutating func tick(at now: Instant) {
        guard silence.isDue(roundTrip: roundTrip, at: now) else { return }
        let lower = max(target * 0.5, configuration.minimumBitrate)
        delayControl.set(lower, at: now)
        lossControl.backOff(to: lower, at: now)
        updateTarget()
    }

    private mutating func updateTarget() {
        guard silence.hasHeard else {
            // Without any news the beginning stays; the peer's own reports lead where they come.
            target = reported.rate
            return
        }
        target = min(delayControl.rate, lossControl.limit ?? delayControl.rate)
        // At 85 % of what the path carries, a second's queue would take six more to drain.
        if let drain = standingQueue.limit { target = min(target, drain) }
        // Not negotiated beside transport-wide feedback; a peer that sends it nevertheless means it.
        if let peerEstimate = reported.peerEstimate { target = min(target, peerEstimate) }
        target = min(max(target, configuration.minimumBitrate), configuration.maximumBitrate)
    }

    private mutating func measureRoundTrip(_ results: [TransportFeedbackTracker.PacketResult], at now: Instant) {
        // The last packet that arrived waited least for the feedback.
        guard let last = results.last(where: { $0.arrivedAt != nil }) else { return }
        let sample = min(max(now - last.sentAt, .zero), .seconds(Int64(10)))
        roundTrip = Interval(nanoseconds: (roundTrip.nanoseconds * 7 + sample.nanoseconds) / 8)
        standingQueue.measured(sample, at: now)
    }

    private mutating func sortByArrival(_ results: [TransportFeedbackTracker.PacketResult]) {
        arrivals.removeAll(keepingCapacity: true)
        var isInOrder = true
        for result in results {
            guard let arrivedAt = result.arrivedAt else { continue }
            if let last = arrivals.last?.arrivedAt, last > arrivedAt { isInOrder = false }
            arrivals.append(result)
        }
        if !isInOrder { arrivals.sort { ($0.arrivedAt ?? .zero) < ($1.arrivedAt ?? .zero) } }
    }
}
