/// A point in time, in nanoseconds since an origin that only the owner of the clock knows. The engine never
/// reads a clock: each call that needs the time is given it (see `docs/decisions`).
public struct Instant: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The origin.
    public static let zero = Instant(nanoseconds: 0)

    public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
    public static func + (lhs: Instant, rhs: Interval) -> Instant {
        Instant(nanoseconds: lhs.nanoseconds + rhs.nanoseconds)
    }
    public static func - (lhs: Instant, rhs: Interval) -> Instant {
        Instant(nanoseconds: lhs.nanoseconds - rhs.nanoseconds)
    }
    public static func - (lhs: Instant, rhs: Instant) -> Interval {
        Interval(nanoseconds: lhs.nanoseconds - rhs.nanoseconds)
    }
    public static func += (lhs: inout Instant, rhs: Interval) { lhs = lhs + rhs }
}

/// A span of time in nanoseconds. The standard library's `Duration` is 128 bits wide and converts slowly; it is
/// accepted at the public API and becomes this at once.
public struct Interval: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// What is longer than a century is a century: such a time means "without end", and is added to others.
    public init(_ duration: Duration) {
        let longest = Duration.seconds(Self.longest)
        let (seconds, attoseconds) = min(max(duration, .zero - longest), longest).components
        self.nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    private static let longest = 3_155_760_000

    public static let zero = Interval(nanoseconds: 0)
    public static func microseconds(_ value: Int64) -> Interval { Interval(nanoseconds: value * 1_000) }
    public static func milliseconds(_ value: Int64) -> Interval { Interval(nanoseconds: value * 1_000_000) }
    public static func seconds(_ value: Int64) -> Interval { Interval(nanoseconds: value * 1_000_000_000) }
    /// At most a century, as of a `Duration`; of what is no number, nothing.
    @_disfavoredOverload
    public static func seconds(_ value: Double) -> Interval {
        guard !value.isNaN else { return .zero }
        let bounded = min(max(value, -Double(longest)), Double(longest))
        return Interval(nanoseconds: Int64(bounded * 1e9))
    }

    /// In seconds, with fractions.
    public var seconds: Double { Double(nanoseconds) / 1e9 }
    /// In milliseconds, with fractions.
    public var milliseconds: Double { Double(nanoseconds) / 1e6 }
    public var duration: Duration { .nanoseconds(nanoseconds) }

    public static func < (lhs: Interval, rhs: Interval) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
    public static func + (lhs: Interval, rhs: Interval) -> Interval {
        Interval(nanoseconds: lhs.nanoseconds + rhs.nanoseconds)
    }
    public static func - (lhs: Interval, rhs: Interval) -> Interval {
        Interval(nanoseconds: lhs.nanoseconds - rhs.nanoseconds)
    }
    public static func * (lhs: Interval, rhs: Int64) -> Interval { Interval(nanoseconds: lhs.nanoseconds * rhs) }
    public static func / (lhs: Interval, rhs: Int64) -> Interval { Interval(nanoseconds: lhs.nanoseconds / rhs) }
}
