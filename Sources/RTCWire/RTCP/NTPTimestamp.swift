/// Seconds since 1900 as 32.32 fixed point (RFC 5905 §6), the wall clock of sender reports.
public struct NTPTimestamp: Sendable, Hashable, Comparable {
    public var value: UInt64

    public init(value: UInt64) { self.value = value }

    /// Seconds and nanoseconds since 1970, as operating systems tell the time.
    public init(unixSeconds: Int64, nanoseconds: Int64) {
        // RFC 5905 §6: 2,208,988,800 seconds lie between 1900 and 1970.
        let seconds = UInt64(truncatingIfNeeded: unixSeconds &+ 2_208_988_800) & 0xffff_ffff
        let fraction = UInt64(clamping: nanoseconds) << 32 / 1_000_000_000
        value = seconds << 32 &+ fraction
    }

    /// The middle 32 bits, as reports carry them (RFC 3550 §6.4.1): units of 1/65,536 seconds.
    public var middle: UInt32 { UInt32(truncatingIfNeeded: value >> 16) }

    /// This time moved by a signed number of nanoseconds.
    public func advanced(byNanoseconds nanoseconds: Int64) -> NTPTimestamp {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let fraction = (rest << 32) / 1_000_000_000
        return NTPTimestamp(value: value &+ UInt64(bitPattern: seconds << 32) &+ UInt64(bitPattern: fraction))
    }

    public static func < (lhs: NTPTimestamp, rhs: NTPTimestamp) -> Bool { lhs.value < rhs.value }
}
