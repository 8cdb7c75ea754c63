public import RTCEngine
public import RTCWire

/// The offset between a publisher's wall clock and ours, estimated from its sender reports (RTCP SR) and their arrival.
///
/// All tracks of a publisher are reported to subscribers with the same offset, so that sound and pictures stay in step
/// even if they came by different paths. A report comes late by the delay of its path, so the smallest offset is the
/// best estimate.
public struct PublisherClock: Sendable, Hashable {
    /// The smallest offset of the present stretch of this length and the one before is used. Not that of all time,
    /// since clocks drift by some milliseconds a minute.
    private static let memory = Interval.seconds(Int64(30))
    /// A report that is this much later than the best one is ignored at first.
    private static let longestDelay = Interval.seconds(Int64(2))
    /// When all reports are that late for so long, the publisher's clock was set back, and the estimate begins anew.
    private static let longestStall = Interval.seconds(Int64(5))

    /// What is added to the publisher's nanoseconds: the smallest offset of this stretch and of the one before.
    private var offset: Int64?
    /// The smallest offset since this stretch began.
    private var recent = Int64.max
    private var began = Instant.zero
    /// Since when reports come too late; nil when they do not.
    private var lateSince: Instant?

    public init() {}

    /// A report has come.
    public mutating func reported(_ ntp: NTPTimestamp, at arrival: Instant) {
        // RFC 3550 §6.4.1: a sender without a wall clock may say zero.
        guard ntp.value != 0 else { return }
        let seen = arrival.nanoseconds &- Self.nanoseconds(ntp)
        guard let offset else { return begin(seen, at: arrival) }
        guard seen &- offset < Self.longestDelay.nanoseconds else {
            let since = lateSince ?? arrival
            lateSince = since
            if arrival - since >= Self.longestStall { begin(seen, at: arrival) }
            return
        }
        lateSince = nil
        recent = min(recent, seen)
        self.offset = min(offset, seen)
        guard arrival - began > Self.memory else { return }
        self.offset = recent
        recent = seen
        began = arrival
    }

    private mutating func begin(_ seen: Int64, at arrival: Instant) {
        offset = seen
        recent = seen
        began = arrival
        lateSince = nil
    }

    /// The moment by our clock that a report's NTP timestamp names. Nil before the first report; nil also for a report
    /// from another clock, or from before the clock was set: the moment is never far from the report's arrival.
    public func moment(of report: SenderClock) -> Instant? {
        guard let offset else { return nil }
        let moment = Instant(nanoseconds: Self.nanoseconds(report.ntp) &+ offset)
        return abs((report.receivedAt - moment).nanoseconds) < Self.longestDelay.nanoseconds ? moment : nil
    }

    /// Nanoseconds since 1900: NTP's 32 bits of seconds reach until 2036.
    private static func nanoseconds(_ ntp: NTPTimestamp) -> Int64 {
        let (seconds, fraction) = (Int64(ntp.value >> 32), Int64(ntp.value & 0xffff_ffff))
        return seconds * 1_000_000_000 + (fraction * 1_000_000_000) >> 32
    }
}
