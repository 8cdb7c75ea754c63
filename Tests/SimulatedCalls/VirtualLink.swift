import RTCEngine

/// How one direction of a host's access line treats datagrams.
struct LinkConditions {
    var delay = Interval.milliseconds(10)
    /// Added to the delay, evenly from nothing to this.
    var jitter = Interval.zero
    /// Chances from 0 to 1.
    var loss = 0.0
    var duplication = 0.0
    /// The chance that a datagram may overtake others or be overtaken; the rest keep their order.
    var reordering = 0.0
    /// Nil: as fast as one likes.
    var bitsPerSecond: Int?
    /// A datagram that would wait longer than this for the line is dropped at its tail.
    var queueLimit = Interval.milliseconds(200)

    static let lan = LinkConditions(delay: .milliseconds(1))
    static let access = LinkConditions()
    /// A bad radio link.
    static let rough = LinkConditions(
        delay: .milliseconds(30), jitter: .milliseconds(40), loss: 0.15, duplication: 0.05, reordering: 0.2)
    /// Nothing gets through.
    static let cut = LinkConditions(loss: 1)
}

/// The moving part of a link: when the line is free and what left it last.
struct VirtualLink {
    var conditions: LinkConditions
    private var lineFreeAt = Instant.zero
    private var lastArrival = Instant.zero

    init(_ conditions: LinkConditions) { self.conditions = conditions }

    /// When a datagram put in at `now` comes out: never, once, or more often.
    mutating func arrivals(ofBytes count: Int, at now: Instant, random: inout EngineRandom) -> [Instant] {
        guard !happens(conditions.loss, &random) else { return [] }
        var departure = now
        if let rate = conditions.bitsPerSecond, rate > 0 {
            let start = max(now, lineFreeAt)
            guard start - now <= conditions.queueLimit else { return [] }
            // 28 bytes of IP and UDP header travel too.
            departure = start + Interval(nanoseconds: Int64(count + 28) * 8 * 1_000_000_000 / Int64(rate))
            lineFreeAt = departure
        }
        let copies = happens(conditions.duplication, &random) ? 2 : 1
        return (0..<copies).map { _ in
            var arrival = departure + conditions.delay
            if conditions.jitter > .zero {
                let extra = Int64.random(in: 0...conditions.jitter.nanoseconds, using: &random)
                arrival += Interval(nanoseconds: extra)
            }
            if happens(conditions.reordering, &random) { return arrival }
            lastArrival = max(lastArrival, arrival)
            return lastArrival
        }
    }

    private func happens(_ chance: Double, _ random: inout EngineRandom) -> Bool {
        // The generator is asked only where there is a chance, so that a perfect link costs no randomness.
        guard chance > 0 else { return false }
        return Double.random(in: 0..<1, using: &random) < chance
    }
}
