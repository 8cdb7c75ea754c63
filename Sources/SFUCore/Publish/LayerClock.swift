public import RTCEngine
import RTCWire

/// Relates a stream's time stamps to its sender's wall clock, by the last sender report (RFC 3550 §6.4.1). All streams
/// of a publication share that clock, so it also relates the time stamps of two layers to each other.
public struct LayerClock: Sendable, Hashable {
    /// Ticks a second.
    public let clockRate: UInt32
    /// The last report; nil before one.
    public private(set) var report: SenderClock?

    public init(clockRate: UInt32) { self.clockRate = clockRate }

    public var isKnown: Bool { report != nil }

    public mutating func reported(_ report: SenderClock) {
        // RFC 3550 §6.4.1: a sender without a wall clock may say zero.
        guard report.ntp.value != 0 else { return }
        self.report = report
    }

    /// How long after `earlier`, a timestamp of another stream of the same sender, `timestamp` was sampled, in ticks;
    /// nil when one of the two streams has had no report.
    func ticks(from earlier: UInt32, of other: LayerClock, to timestamp: UInt32) -> Int64? {
        guard let report, let otherReport = other.report else { return nil }
        let reports = Int64(bitPattern: report.ntp.value &- otherReport.ntp.value)
        // Reports more than an hour apart are not of one clock.
        guard abs(reports >> 32) < 3_600 else { return nil }
        let between = (reports &* Int64(clockRate)) >> 32
        let after = Int64(Int32(bitPattern: timestamp &- report.timestamp))
        let before = Int64(Int32(bitPattern: earlier &- otherReport.timestamp))
        return between + after - before
    }

    /// In ticks of the media clock.
    static func ticks(_ interval: Interval, clockRate: UInt32) -> Int64 {
        let (seconds, rest) = interval.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds * Int64(clockRate) + rest * Int64(clockRate) / 1_000_000_000
    }
}
