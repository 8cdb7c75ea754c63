import RTCWire

/// The connection's share of its path: estimate, pacer and probes joined.
struct CongestionControl {
    /// Whether packets go through `pace`.
    let isPacing: Bool
    /// The peer says what it gets: packets are numbered for it, or its estimate has come. A connection that nothing
    /// will be known of is not slowed down.
    private var isInformed = false
    private var hasStarted = false
    private var hasSettled = false
    private var plan = ProbePlan()
    private(set) var pacer: Pacer
    private(set) var estimator: BandwidthEstimator
    private let configuration: CongestionConfiguration
    /// What the senders could use; nil when they have not said.
    var wanted: Bitrate?
    /// With less, whoever forwards layers cannot send more; nil when no more is of use.
    private var goal: Bitrate?
    private var toldTarget: Bitrate?
    private var toldAt: Instant?
    private var repeats = RepeatBudget()

    init(_ configuration: CongestionConfiguration) {
        let configuration = configuration.inOrder
        self.configuration = configuration
        isPacing = configuration.pacing != .off
        estimator = BandwidthEstimator(configuration)
        pacer = Pacer(
            rate: configuration.startBitrate * configuration.pacingFactor,
            maximumQueueTime: configuration.maximumQueueTime, isForwarding: configuration.pacing == .forwarded)
    }

    /// What the path is thought to carry.
    var target: Bitrate { estimator.target }

    /// Whether the target rests on anything that the peer has said.
    var isKnown: Bool { estimator.hasFeedback || estimator.peerEstimate != nil }

    /// Whether the target is more than where it began: the first probes have come out, or the path was seen to be full.
    /// Once it is, it stays so.
    mutating func isSettled(at now: Instant) -> Bool {
        if hasSettled { return true }
        hasSettled =
            isKnown
            && (!isPacing || estimator.peerEstimate != nil || plan.hasSettled(at: now) || !estimator.isCalm(at: now))
        return hasSettled
    }

    /// Whether `pace` may begin a probe or go on with one.
    var mayProbe: Bool { isPacing && (!hasStarted || pacer.isProbing || plan.hasWaiting) }
    /// Whether there is padding for probes; without it they are made of media that wait.
    var canPad: Bool {
        get { pacer.canPad }
        set { pacer.canPad = newValue }
    }
    /// Whether `pace` has something to do when nothing new is in the queue.
    var isBusy: Bool { !pacer.isEmpty || pacer.isProbing || plan.hasWaiting }

    /// When `tick` and `pace` are next wanted; nil when nothing is pending. `mutating`, for to look at a copy would
    /// make one of all that is known of the path, for each datagram that comes.
    var nextWake: Instant? {
        mutating get {
            let silent = estimator.nextWake
            guard isPacing, !pacer.isEmpty || pacer.isProbing, let pacing = pacer.nextWake else { return silent }
            return silent.map { min($0, pacing) } ?? pacing
        }
    }

    // MARK: Packets out

    private mutating func note(_ packet: borrowing QueuedPacket, at now: Instant) {
        if packet.places.transportSequence != nil { isInformed = true }
        guard !hasStarted, packet.kind == .rtp, packet.places.transportSequence != nil, packet.priority != .audio
        else { return }
        // Sound alone needs no more than the start; pictures will.
        hasStarted = true
        plan.begin(start: target, maximum: configuration.maximumBitrate, at: now)
    }

    /// Takes RTP that has to wait; what need not stays in the queue, and what may leave now comes back into it.
    mutating func pace(_ queue: inout PacketQueue, at now: Instant) {
        for _ in 0..<queue.count {
            guard let packet = queue.popFirst() else { break }
            note(packet, at: now)
            switch (packet.kind, packet.priority) {
            case (.rtcp, _):
                queue.append(packet)
            case (.rtp, .audio):
                pacer.passed(packet.bytes.count, at: now)
                queue.append(packet)
            case (.rtp, .retransmission), (.rtp, .video), (.rtp, .padding):
                guard isInformed else {
                    queue.append(packet)
                    continue
                }
                if packet.priority == .retransmission { repeats.repeated(packet.bytes.count) }
                pacer.enqueue(packet, at: now)
            }
        }
        release(into: &queue, at: now)
    }

    /// Puts into the queue what may leave now.
    mutating func release(into queue: inout PacketQueue, at now: Instant) {
        repeat {
            if !pacer.isProbing, let cluster = plan.take() {
                estimator.expect(cluster)
                pacer.begin(cluster)
            }
            while let packet = pacer.next(at: now) { queue.append(packet) }
        } while !pacer.isProbing && plan.hasWaiting
    }

    /// Bytes of padding that a probe needs now.
    mutating func paddingWanted(at now: Instant) -> (bytes: Int, probe: Int32) {
        isPacing ? pacer.paddingWanted(at: now) : (0, 0)
    }

    /// Padding was put into the queue past the pacer.
    mutating func padded(_ bytes: Int, packets: Int, at now: Instant) {
        pacer.padded(bytes, packets: packets, at: now)
    }

    /// A numbered packet was handed to the network.
    ///
    /// - Returns: whether an answer is waited for since now.
    @discardableResult
    mutating func sent(_ bytes: Int, at now: Instant) -> Bool { estimator.sent(bytes, at: now) }

    /// How many packets of pictures may be repeated now.
    mutating func repeatLimit(at now: Instant) -> Int {
        isPacing && isInformed ? repeats.packets(over: target, at: now) : .max
    }

    /// Whether a packet may leave at once, past the queue: nothing is ahead of it, and it begins nothing.
    ///
    /// - Parameter batch: how many packets come together, itself among them.
    mutating func mayPass(_ outlook: ForwardingOutlook, batch: Int, at now: Instant) -> Bool {
        guard isPacing else { return true }
        if outlook.isNumbered, !isInformed { return false }
        guard outlook.priority != .audio else { return true }
        if outlook.isNumbered, !hasStarted { return false }
        guard isInformed else { return true }
        return (pacer.isProbing || !plan.hasWaiting) && pacer.mayPass(batch: batch, canPad: outlook.canPad, at: now)
    }

    /// It has.
    mutating func passed(_ bytes: Int, _ priority: PacketPriority, at now: Instant) {
        guard isPacing else { return }
        if priority == .audio {
            pacer.passed(bytes, at: now)
        } else if isInformed {
            pacer.passedInTurn(bytes)
        }
    }

    // MARK: News from the peer

    mutating func receive(_ results: [TransportFeedbackTracker.PacketResult], at now: Instant) {
        if let probed = estimator.receive(results, at: now) {
            plan.resulted(in: probed, maximum: configuration.maximumBitrate, at: now)
        }
        if estimator.takeComeBack() {
            plan.reset()
            hasStarted = false
        }
        followEstimate(at: now)
    }

    mutating func receive(_ estimate: ReceiverEstimatedBitrate, at now: Instant) {
        isInformed = true
        estimator.receive(
            peerEstimate: Bitrate(bitsPerSecond: Int64(clamping: estimate.bitrate)), at: now)
        followEstimate(at: now)
    }

    mutating func receive(_ block: ReportBlock, roundTrip: Interval?, at now: Instant) {
        if let roundTrip { estimator.note(roundTrip: roundTrip) }
        estimator.receive(block, at: now)
        followEstimate(at: now)
    }

    // MARK: Time and changes

    /// Whoever forwards layers has looked at what the next one needs. This is the only clock of a connection that
    /// everything is paused on: nothing is sent, so that nothing is told of either.
    mutating func setGoal(_ goal: Bitrate?, at now: Instant) {
        self.goal = goal
        // Everything is paused since before the path came back, or was changed: no media will begin the probes.
        if let goal, goal > target, isInformed, !hasStarted {
            hasStarted = true
            plan.begin(start: target, maximum: configuration.maximumBitrate, at: now)
        }
        followEstimate(at: now)
    }

    /// Does what has fallen due, except for sending: that is `pace`.
    mutating func tick(at now: Instant) {
        estimator.tick(at: now)
        followEstimate(at: now)
    }

    /// Packets take another path from now on, of which nothing is known.
    mutating func pathChanged(at now: Instant) {
        estimator = BandwidthEstimator(configuration, since: now)
        plan.reset()
        hasStarted = false
        pacer.isTight = false
        pacer.rate = target * configuration.pacingFactor
    }

    /// Waiting packets of these sources, or all of them, are forgotten.
    mutating func forget(_ ssrcs: [UInt32]?, recycle: ([UInt8]) -> Void) {
        if ssrcs == nil { pacer.cancelProbe() }
        guard !pacer.isEmpty else { return }
        pacer.removeAll(
            where: { packet in
                guard let ssrcs else { return true }
                return packet.bytes.span.bytes.uint32(at: 8).map { ssrcs.contains($0) } ?? true
            }, recycle: recycle)
    }

    private mutating func followEstimate(at now: Instant) {
        // Whoever encodes sends what losses allow, and so finds out by itself when they allow more; a forwarded layer
        // fits or does not.
        let isCalm = estimator.isCalm(at: now)
        plan.update(
            estimate: target, wanted: wanted, goal: isCalm ? goal : nil, maximum: configuration.maximumBitrate,
            isLimited: estimator.isLimited, isCalm: isCalm && !estimator.isLossLimited, at: now)
        pacer.isTight = isTight
        let factor = configuration.pacingFactor
        pacer.rate = target * (pacer.isTight ? min(Self.tightFactor, factor) : factor)
    }

    /// Of the estimate of a path that has been seen to be full: forwarded pictures that are more than this are let out
    /// evenly, hardly faster than the path carries them.
    private static let tightShare = 0.5
    private static let tightFactor = 1.25

    private var isTight: Bool {
        mutating get {
            guard configuration.pacing == .forwarded, estimator.hasBeenFull,
                let acknowledged = estimator.acknowledgedBitrate.bitrate
            else { return false }
            return acknowledged > target * Self.tightShare
        }
    }

    // MARK: Telling the encoders

    /// Changes are told from this on, smaller ones after a second.
    private static let noticeableChange = 0.05
    private static let patience = Interval.seconds(Int64(1))

    /// The target, when it is time to tell it; nil otherwise.
    mutating func takeNews(at now: Instant) -> Bitrate? {
        guard estimator.hasFeedback || isInformed else { return nil }
        if let toldTarget, let toldAt {
            let change = abs(target.value - toldTarget.value)
            guard change > 0, change >= toldTarget.value * Self.noticeableChange || now - toldAt >= Self.patience
            else { return nil }
        }
        toldTarget = target
        toldAt = now
        return target
    }

    /// The senders are others: what was told no longer fits.
    mutating func tellAgain() { toldTarget = nil }
}
