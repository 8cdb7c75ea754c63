import RTCEngine

/// A one-way path in virtual time: loses, delays, reorders and repeats packets, the same way for the same seed.
struct LossyLink {
    struct Conditions {
        var loss = 0.0
        var duplication = 0.0
        var delay = Interval.milliseconds(15)
        /// Up to this much more delay, drawn for each packet: what reorders.
        var jitter = Interval.zero
        /// Packets entering within these times are all lost.
        var outages: [Range<Instant>] = []
    }

    var conditions: Conditions
    private var random: EngineRandom
    private var inFlight: [(at: Instant, order: Int, packet: QueuedPacket)] = []
    private var count = 0
    private(set) var lost = 0

    init(_ conditions: Conditions, seed: UInt64) {
        self.conditions = conditions
        random = .seeded(seed)
    }

    private mutating func chance(_ probability: Double) -> Bool {
        Double(random.next() >> 11) / Double(1 << 53) < probability
    }

    mutating func enter(_ packet: QueuedPacket, at now: Instant) {
        if conditions.outages.contains(where: { $0.contains(now) }) || chance(conditions.loss) {
            lost += 1
            return
        }
        for _ in 0..<(chance(conditions.duplication) ? 2 : 1) {
            let extra =
                conditions.jitter.nanoseconds > 0
                ? Int64.random(in: 0...conditions.jitter.nanoseconds, using: &random) : 0
            count += 1
            inFlight.append((now + conditions.delay + Interval(nanoseconds: extra), count, packet))
        }
    }

    /// The next packet that has arrived by `now`.
    mutating func leave(at now: Instant) -> QueuedPacket? {
        guard let index = inFlight.indices.min(by: { order(inFlight[$0]) < order(inFlight[$1]) }),
            inFlight[index].at <= now
        else { return nil }
        return inFlight.remove(at: index).packet
    }

    private func order(_ entry: (at: Instant, order: Int, packet: QueuedPacket)) -> (Int64, Int) {
        (entry.at.nanoseconds, entry.order)
    }

    var nextArrival: Instant? { inFlight.map(\.at).min() }
}
