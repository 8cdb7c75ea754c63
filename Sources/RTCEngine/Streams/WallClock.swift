public import RTCWire

/// The wall clock that reports speak of, derived from the engine's time.
public struct WallClock: Sendable, Hashable {
    /// What to add to an `Instant` to get the time since 1970.
    public var offset: Interval

    public init(offset: Interval) { self.offset = offset }

    /// The wall clock at `now`.
    public func ntp(at now: Instant) -> NTPTimestamp {
        NTPTimestamp(unixSeconds: 0, nanoseconds: 0)
            .advanced(byNanoseconds: now.nanoseconds &+ offset.nanoseconds)
    }
}

extension Interval {
    /// From units of 1/65,536 seconds, as reports carry delays (RFC 3550 §6.4.1).
    init(units65536 units: UInt32) {
        // A shift binds tighter than a product.
        self.init(nanoseconds: (Int64(units) * 1_000_000_000) >> 16)
    }

    /// In units of 1/65,536 seconds; 0 for a negative interval.
    var units65536: UInt32 {
        guard nanoseconds > 0 else { return 0 }
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return UInt32(clamping: seconds << 16 + (rest << 16) / 1_000_000_000)
    }

    /// In ticks of a media clock.
    func ticks(clockRate: UInt32) -> Int64 {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds * Int64(clockRate) + rest * Int64(clockRate) / 1_000_000_000
    }

    /// From ticks of a media clock.
    init(ticks: Int64, clockRate: UInt32) {
        guard clockRate > 0 else {
            self = .zero
            return
        }
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Int64(clockRate))
        self.init(nanoseconds: seconds * 1_000_000_000 + rest * 1_000_000_000 / Int64(clockRate))
    }
}
