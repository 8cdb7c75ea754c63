/// A leaky bucket: lets packets out at a rate, a few milliseconds' worth at a time, so that a picture of many packets
/// does not arrive as one burst at the narrowest point of the path.
///
/// The owner hands in packets (`enqueue`), takes out what may leave (`next`) and comes back at `nextWake`. What is
/// taken counts against the bucket; while it is above its brim nothing leaves.
struct Pacer {
    private struct Waiting {
        var packet: QueuedPacket
        var since: Instant
    }

    /// Leaves at once, and so often is the owner woken.
    private static let burst = Interval.milliseconds(5)
    /// The same from this rate on: there a picture is dozens of packets, and a timer for every few of them costs as
    /// much as sending them. libwebrtc takes 40 ms at every rate, and the same bound in bytes; on a slow path that is a
    /// queue which sound stands in.
    private static let fastBurst = Interval.milliseconds(20)
    /// Of pictures that another's pacer has let out already: a whole one at the rate that is sent, for the pacer's is a
    /// multiple of that. What is left to do here is a path that carries less than the one that they came by
    /// (`isTight`).
    private static let forwardedBurst = Interval.milliseconds(40)
    private static let fastRate = Bitrate.megabits(10)
    private static let burstBytes = 63_000.0
    /// Of a probe: its times are measured, so its bursts are short.
    private static let probeBurst = Interval.milliseconds(2)
    /// A probe that is so late is no longer one at its rate.
    private static let latestProbe = Interval.milliseconds(20)
    /// A cluster for which nothing could be sent for so long is forgotten.
    private static let probePatience = Interval.seconds(Int64(5))
    /// More are not held, whatever the rate: the owner's memory is not the place for them.
    private static let mostPackets = 4_096
    /// The first picture need not wait: as much leaves at once as TCP sends before it knows anything of the path (RFC
    /// 6928 §2). Its layers, or its packets where they are passed on, may come one after the other for so long.
    static let initialWindow = 10 * 1_200
    static let initialWindowLength = Interval.milliseconds(100)
    /// Nobody waits longer for what was sent before.
    private static let longestDebt = Interval.milliseconds(500)

    private struct Probe {
        var cluster: ProbeCluster
        var startedAt: Instant?
        var bytes = 0
        var packets = 0
        /// How many moments it left at, and what in the first and the last of them.
        var pieces = 0
        var first = 0
        var last = 0
        var lastAt: Instant?

        mutating func add(_ bytes: Int, packets: Int, at now: Instant) {
            self.bytes += bytes
            self.packets += packets
            if now != lastAt {
                pieces += 1
                last = 0
            }
            last += bytes
            lastAt = now
            if pieces == 1 { first = last }
        }

        var isComplete: Bool {
            guard bytes >= cluster.bytes, packets >= cluster.packets, pieces >= ProbeCluster.fewestPieces else {
                return false
            }
            // Where nothing as large as the first comes any more, nothing is shown, and media are not held back for it.
            return ProbeCluster.isLevel(first: first, last: last, of: bytes)
                || bytes >= max(2 * cluster.bytes, ProbeCluster.fewestPieces * first)
        }
    }

    var rate: Bitrate
    /// Bytes that have left and not yet drained.
    private var debt = 0.0
    private var last = Instant.zero
    /// What is left of the initial window, in bytes.
    private var window: Int
    /// The bucket has drained to its bottom since it was last full: a burst may leave.
    private var isOpen = true
    private let isForwarding: Bool
    /// What is forwarded is much of what the path carries, so it is let out evenly: a picture that reaches a narrow
    /// path at once makes a queue there, in which sound stands, and which looks as if the path were full.
    var isTight = false
    /// A cluster is being sent, or waits for packets to be sent with: `probe`, known here without a look at it.
    private(set) var isProbing = false
    private var retransmissions = FIFO<Waiting>()
    private var video = FIFO<Waiting>()

    /// How much waits, and for how long: apart from the queues, for each packet that passes asks.
    private struct Backlog {
        var packets = 0
        var bytes = 0
        /// The sum of the times at which the packets came, since `base`: for their mean age.
        private var since: Int64 = 0
        private var base = Instant.zero

        mutating func add(_ bytes: Int, at now: Instant) {
            if packets == 0 { self = Backlog(base: now) }
            packets += 1
            self.bytes += bytes
            since += (now - base).nanoseconds
        }

        mutating func remove(_ bytes: Int, since came: Instant) {
            packets -= 1
            self.bytes -= bytes
            since -= (came - base).nanoseconds
        }

        private init(base: Instant) { self.base = base }
        init() {}

        /// The rate, or what it takes for the mean packet not to wait longer than it may.
        func hurriedRate(_ rate: Bitrate, within limit: Interval, at now: Instant) -> Bitrate {
            guard packets > 0 else { return rate }
            let age = (now - base).nanoseconds - since / Int64(packets)
            let left = max(limit - Interval(nanoseconds: age), .milliseconds(1))
            return max(rate, Bitrate(bytes: bytes, in: left))
        }
    }

    private var backlog = Backlog()
    private let maximumQueueTime: Interval
    /// When the initial window began.
    private var windowBegan: Instant?
    private var probe: Probe? {
        didSet { isProbing = probe != nil }
    }
    /// Whether a probe may go on with padding when the media have nothing for it; the owner says.
    var canPad = true

    /// - Parameter isForwarding: what comes has been paced by who made it.
    init(
        rate: Bitrate, maximumQueueTime: Interval, isForwarding: Bool = false, initialWindow: Int = Self.initialWindow
    ) {
        self.rate = rate
        self.isForwarding = isForwarding
        window = initialWindow
        self.maximumQueueTime = maximumQueueTime
    }

    var queuedPackets: Int { backlog.packets }
    var queuedBytes: Int { backlog.bytes }
    var isEmpty: Bool { backlog.packets == 0 }

    // MARK: In

    /// A packet that waits for its turn.
    mutating func enqueue(_ packet: consuming QueuedPacket, at now: Instant) {
        backlog.add(packet.bytes.count, at: now)
        switch packet.priority {
        case .audio, .retransmission: retransmissions.append(Waiting(packet: packet, since: now))
        case .video, .padding: video.append(Waiting(packet: packet, since: now))
        }
    }

    /// There is no way to send a probe on.
    mutating func cancelProbe() { probe = nil }

    /// Bytes that left past the queue: they fill the bucket all the same.
    mutating func passed(_ bytes: Int, at now: Instant) {
        drain(to: now)
        fill(bytes)
    }

    /// Whether a packet that came now would leave at once, and not with a probe.
    ///
    /// - Parameters:
    ///   - batch: how many packets come together, itself among them.
    ///   - canPad: of its own stream, of which the owner may not have said so yet.
    mutating func mayPass(batch: Int, canPad: Bool, at now: Instant) -> Bool {
        guard isEmpty, !isProbing || !self.canPad && !canPad && isProbeWaiting(forMoreThan: batch) else { return false }
        drain(to: now)
        return isWindowOpen(at: now) || isOpen
    }

    /// Without padding a probe begins with media that wait together. For seconds there may be none, and so many packets
    /// are too few.
    private func isProbeWaiting(forMoreThan packets: Int) -> Bool {
        guard let probe else { return true }
        return probe.startedAt == nil && packets < probe.cluster.packets
    }

    /// A packet has left without having been queued, since it might.
    mutating func passedInTurn(_ bytes: Int) {
        if window > 0 { window -= bytes } else { fill(bytes) }
    }

    /// The next packets make a probe.
    mutating func begin(_ cluster: ProbeCluster) {
        probe = Probe(cluster: cluster)
    }

    // MARK: Out

    private mutating func isWindowOpen(at now: Instant) -> Bool {
        guard window > 0 else { return false }
        let began = windowBegan ?? now
        windowBegan = began
        if now - began > Self.initialWindowLength { window = 0 }
        return window > 0
    }

    /// The next packet that may leave now; nil when none may.
    mutating func next(at now: Instant) -> QueuedPacket? {
        drain(to: now)
        expireProbe(at: now)
        guard !isEmpty else { return nil }
        if isWindowOpen(at: now), let packet = pop() {
            window -= packet.bytes.count
            return packet
        }
        if probe != nil, startProbe(hasPadding: canPad, at: now) {
            guard isProbeDue(at: now) else { return isOverfull ? pop() : nil }
            guard var packet = pop() else { return nil }
            packet.probe = probe?.cluster.id ?? 0
            count(packet.bytes.count, at: now)
            fill(packet.bytes.count)
            return packet
        }
        guard isOpen || isOverfull, let packet = pop() else { return nil }
        fill(packet.bytes.count)
        return packet
    }

    /// Bytes of padding that a probe needs now, for there is nothing else to send; 0: none.
    mutating func paddingWanted(at now: Instant) -> (bytes: Int, probe: Int32) {
        guard isEmpty, canPad, probe != nil, startProbe(hasPadding: true, at: now), isProbeDue(at: now),
            let probe
        else { return (0, 0) }
        return (max(Int(probe.cluster.rate.bytes(in: Self.probeBurst)), probe.first, 1), probe.cluster.id)
    }

    /// What came of the wish; 0 bytes when there is nothing to pad with.
    mutating func padded(_ bytes: Int, packets: Int, at now: Instant) {
        guard bytes > 0 else {
            canPad = false
            // Without padding a probe cannot go on when the media stop, but it can wait for enough of them to begin.
            if probe?.packets == 0 { probe?.startedAt = nil } else { probe = nil }
            return
        }
        fill(bytes)
        count(bytes, packets: packets, at: now)
    }

    /// When something may leave, or a probe goes on; nil when nothing waits.
    var nextWake: Instant? {
        if window > 0, !isEmpty { return last }
        if let probe, canPad || !isEmpty {
            if let startedAt = probe.startedAt { return max(last, due(probe, startedAt)) }
            if canPad { return last }
        }
        guard !isEmpty else { return nil }
        if isOpen || isOverfull { return last }
        return last + max(currentRate(at: last).time(forBytes: debt), .microseconds(100))
    }

    /// Packets that wait are forgotten: there is nobody to send them to, or their source has ended.
    mutating func removeAll(where isGone: (QueuedPacket) -> Bool = { _ in true }, recycle: ([UInt8]) -> Void) {
        for _ in 0..<retransmissions.count {
            guard let waiting = retransmissions.popFirst() else { break }
            keep(waiting, unless: isGone, in: \.retransmissions, recycle)
        }
        for _ in 0..<video.count {
            guard let waiting = video.popFirst() else { break }
            keep(waiting, unless: isGone, in: \.video, recycle)
        }
    }

    // MARK: The bucket

    private var isOverfull: Bool { queuedPackets > Self.mostPackets }

    private mutating func drain(to now: Instant) {
        let elapsed = max(now - last, .zero)
        let rate = currentRate(at: now)
        last = max(last, now)
        debt = min(max(debt - rate.bytes(in: min(elapsed, .seconds(Int64(10)))), 0), rate.bytes(in: Self.longestDebt))
        // What is left of a byte is the rounding of times.
        if debt < 1 { isOpen = true }
    }

    private mutating func fill(_ bytes: Int) {
        debt += Double(bytes)
        let burst = isForwarding && !isTight ? Self.forwardedBurst : rate >= Self.fastRate ? Self.fastBurst : Self.burst
        if debt >= min(currentRate(at: last).bytes(in: burst), Self.burstBytes) { isOpen = false }
    }

    private func currentRate(at now: Instant) -> Bitrate {
        backlog.hurriedRate(rate, within: maximumQueueTime, at: now)
    }

    private mutating func pop() -> QueuedPacket? {
        guard let waiting = retransmissions.popFirst() ?? video.popFirst() else { return nil }
        forget(waiting)
        return waiting.packet
    }

    private mutating func forget(_ waiting: Waiting) {
        backlog.remove(waiting.packet.bytes.count, since: waiting.since)
    }

    private mutating func keep(
        _ waiting: Waiting, unless isGone: (QueuedPacket) -> Bool, in queue: WritableKeyPath<Pacer, FIFO<Waiting>>,
        _ recycle: ([UInt8]) -> Void
    ) {
        if isGone(waiting.packet) {
            forget(waiting)
            recycle(waiting.packet.bytes)
        } else {
            self[keyPath: queue].append(waiting)
        }
    }

    // MARK: Probes

    private func due(_ probe: Probe, _ startedAt: Instant) -> Instant {
        startedAt + probe.cluster.rate.time(forBytes: Double(probe.bytes))
    }

    private func isProbeDue(at now: Instant) -> Bool {
        guard let probe, let startedAt = probe.startedAt else { return false }
        return now >= due(probe, startedAt)
    }

    /// Without padding the media that wait have to be enough for it.
    private mutating func startProbe(hasPadding: Bool, at now: Instant) -> Bool {
        guard let current = probe else { return false }
        if current.startedAt != nil { return true }
        guard hasPadding || queuedBytes >= current.cluster.bytes && queuedPackets >= current.cluster.packets else {
            return false
        }
        probe?.startedAt = now
        return true
    }

    private mutating func count(_ bytes: Int, packets: Int = 1, at now: Instant) {
        probe?.add(bytes, packets: packets, at: now)
        if probe?.isComplete == true { probe = nil }
    }

    private mutating func expireProbe(at now: Instant) {
        guard let current = probe else { return }
        if let startedAt = current.startedAt {
            if now - due(current, startedAt) > Self.latestProbe { probe = nil }
        } else if now - current.cluster.createdAt > Self.probePatience {
            probe = nil
        }
    }
}
