public import RTCEngine
public import RTCWire

/// How a publisher's wall clock lies beside ours, by when its sender reports come.
///
/// All its tracks are told to subscribers by the same offset: sound and pictures of one person stay together, whatever
/// their ways here differ by. A report is late by what its path takes, so the one that took least says most.
public struct PublisherClock: Sendable, Hashable {
    /// Reports of so long are remembered, and once more as long: clocks drift, by some milliseconds a minute.
    private static let memory = Interval.seconds(Int64(30))
    /// No path takes this much more than at its best for long.
    private static let longestDelay = Interval.seconds(Int64(2))
    /// What holds longer is no delay: the clock was set back.
    private static let longestStall = Interval.seconds(Int64(5))

    /// What is to be added to the publisher's nanoseconds, the least of this stretch and of the one before.
    private var offset: Int64?
    /// The least since the stretch began.
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

    /// When it was here what a report says; nil before one, and for one that is of another clock than the others, or of
    /// before it was set: what is told is never far from when it came.
    public func moment(of report: SenderClock) -> Instant? {
        guard let offset else { return nil }
        let moment = Instant(nanoseconds: Self.nanoseconds(report.ntp) &+ offset)
        return abs((report.receivedAt - moment).nanoseconds) < Self.longestDelay.nanoseconds ? moment : nil
    }

    /// Since 1900, by which a peer names any time until 2036.
    private static func nanoseconds(_ ntp: NTPTimestamp) -> Int64 {
        let (seconds, fraction) = (Int64(ntp.value >> 32), Int64(ntp.value & 0xffff_ffff))
        return seconds * 1_000_000_000 + (fraction * 1_000_000_000) >> 32
    }
}
