import RTCEngine

/// The narrowest place of the path: one queue that all flows share, and the line behind it.
struct Bottleneck {
    private let profile: LinkProfile
    private var random: EngineRandom
    /// Packets in the queue or on the line, oldest first: when they are gone, and their bytes.
    private var queue: [(goneAt: Instant, bytes: Int)] = []
    private var head = 0
    private var queuedBytes = 0
    private var lastArrival = Instant.zero
    private(set) var dropped = 0
    private(set) var lost = 0

    init(_ profile: LinkProfile, seed: UInt64) {
        self.profile = profile
        random = .seeded(seed)
    }

    /// How long a packet that comes now waits before it is on the line.
    func delay(at now: Instant) -> Interval { max((queue.last?.goneAt ?? now) - now, .zero) }

    /// When a packet put in now arrives at the other end; nil: it does not.
    ///
    /// - Parameter bytes: with all headers.
    mutating func put(_ bytes: Int, at now: Instant) -> Instant? {
        while head < queue.count, queue[head].goneAt <= now {
            queuedBytes -= queue[head].bytes
            head += 1
        }
        if head > 1_000 {
            queue.removeSubrange(0..<head)
            head = 0
        }
        guard queuedBytes + bytes <= max(profile.queueLimit, 3_000) else {
            dropped += 1
            return nil
        }
        let start = head < queue.count ? max(now, queue[queue.count - 1].goneAt) : now
        let gone = start + profile.rate(at: start - .zero).time(forBytes: Double(bytes))
        queue.append((gone, bytes))
        queuedBytes += bytes
        // Radio links lose on the air, behind the queue.
        if profile.loss > 0, Double.random(in: 0..<1, using: &random) < profile.loss {
            lost += 1
            return nil
        }
        var arrival = gone + profile.delay(at: now - .zero)
        if profile.jitter > .zero {
            arrival += Interval(nanoseconds: Int64.random(in: 0...profile.jitter.nanoseconds, using: &random))
        }
        lastArrival = max(lastArrival, arrival)
        return lastArrival
    }
}
