/// Bits a second: a unit of its own, so that nobody adds bits to bytes.
public struct Bitrate: Hashable, Comparable, Sendable {
    /// Never negative, and at most `highest`.
    public let bitsPerSecond: Int64

    /// More than any path that this is for; keeps products of rates and times far from an overflow.
    public static let highest: Bitrate = Bitrate(bitsPerSecond: Int64(100_000_000_000))
    /// Nothing.
    public static let zero: Bitrate = Bitrate(bitsPerSecond: Int64(0))

    /// Values out of range become the nearest in it.
    public init(bitsPerSecond: Int64) { self.bitsPerSecond = min(max(bitsPerSecond, 0), 100_000_000_000) }

    /// Likewise; what is no number becomes zero.
    @_disfavoredOverload
    public init(bitsPerSecond: Double) {
        self.bitsPerSecond = bitsPerSecond > 0 ? Int64(min(bitsPerSecond, 1e11)) : 0
    }

    /// Thousands of bits a second; out of range the nearest in it.
    public static func kilobits(_ value: Int64) -> Bitrate { Bitrate(bitsPerSecond: Double(value) * 1e3) }
    /// Millions of bits a second; likewise.
    public static func megabits(_ value: Int64) -> Bitrate { Bitrate(bitsPerSecond: Double(value) * 1e6) }

    /// The rate at which so many bytes go in an interval; zero for no time.
    public init(bytes: Int, in interval: Interval) {
        self.init(bitsPerSecond: interval > .zero ? Double(bytes) * 8 / interval.seconds : 0)
    }

    /// As a number to calculate with.
    public var value: Double { Double(bitsPerSecond) }

    /// How many bytes go in an interval.
    public func bytes(in interval: Interval) -> Double { value / 8 * interval.seconds }

    /// How long so many bytes take; at rate zero, an hour: nobody waits for it, and nothing overflows.
    public func time(forBytes bytes: Double) -> Interval {
        guard bitsPerSecond > 0 else { return Self.never }
        return min(Self.never, .seconds(bytes * 8 / value))
    }

    private static let never = Interval.seconds(Int64(3_600))

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.bitsPerSecond < rhs.bitsPerSecond }
    public static func + (lhs: Self, rhs: Self) -> Self {
        Self(bitsPerSecond: lhs.bitsPerSecond + rhs.bitsPerSecond)
    }
    /// Not below zero.
    public static func - (lhs: Self, rhs: Self) -> Self {
        Self(bitsPerSecond: lhs.bitsPerSecond - rhs.bitsPerSecond)
    }
    public static func * (lhs: Self, factor: Double) -> Self { Self(bitsPerSecond: lhs.value * factor) }
}

extension Bitrate: CustomStringConvertible {
    public var description: String { "\(bitsPerSecond / 1_000) kbit/s" }
}
