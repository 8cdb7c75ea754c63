internal import RTCEngine
internal import RTCWire

/// Lets so much through a second, and so much at once.
struct TokenBucket: Sendable {
    private let rate: Int64
    private let burst: Int64
    private var level: Int64
    private var filledAt: Instant

    init(perSecond rate: Int, burst: Int, at now: Instant) {
        self.rate = Int64(max(rate, 1))
        self.burst = Int64(max(burst, 1))
        level = self.burst
        filledAt = now
    }

    /// False, and nothing taken, when there is not enough.
    mutating func take(_ amount: Int, at now: Instant) -> Bool {
        // Ten seconds fill what is meant for less, and their product does not overflow.
        let elapsed = min((now - filledAt).nanoseconds, 10_000_000_000)
        let (product, isTooMuch) = max(elapsed, 0).multipliedReportingOverflow(by: rate)
        let fresh = isTooMuch ? burst : product / 1_000_000_000
        if fresh > 0 {
            level = min(burst, level + min(fresh, burst))
            // What is left of a unit counts the next time.
            filledAt = level == burst ? now : filledAt + Interval(nanoseconds: fresh * 1_000_000_000 / rate)
        }
        guard level >= Int64(amount) else { return false }
        level -= Int64(amount)
        return true
    }
}

/// How many answers strangers get over UDP. Whoever writes another's address into a datagram has our answer go there,
/// and a challenge is larger than what it answers: so they stay few for each address. A table of fixed size: addresses
/// that meet in a row share it.
struct StrangerLimit: Sendable {
    private var rows: [TokenBucket]
    private let key: UInt64

    init(perSecond rate: Int, rows: Int = 1_024, random: inout EngineRandom) {
        self.rows = Array(repeating: TokenBucket(perSecond: rate, burst: rate * 2, at: .zero), count: rows)
        key = random.next()
    }

    mutating func allows(_ ip: IPAddress, at now: Instant) -> Bool {
        let site: UInt64 =
            switch ip.site {
            case .v4(let value): UInt64(value)
            case .v6(let high, _): high
            }
        var mixed = (site ^ key) &* 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ mixed >> 32) &* 0xbf58_476d_1ce4_e5b9
        return rows[Int(mixed >> 33) % rows.count].take(1, at: now)
    }
}
