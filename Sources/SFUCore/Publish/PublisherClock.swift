public import RTCEngine
public import RTCWire

/// How a publisher's wall clock lies beside ours, by when its sender reports come.
///
/// All its tracks are told to subscribers by the same offset: sound and pictures of one person stay together, whatever
/// their ways here differ by. A report is late by what its path takes, so the one that took least says most.
public struct PublisherClock: Sendable, Hashable {
    /// Reports of so long are remembered, and once more as long: clocks drift, by some milliseconds a minute.
    private static let memory = Interval.seconds(Int64(30))
    /// No path takes this much more than at its best: the clock was set.
    private static let longestDelay = Interval.seconds(Int64(2))

    /// What is to be added to the publisher's nanoseconds, the least of this stretch and of the one before.
    private var offset: Int64?
    /// The least since the stretch began.
    private var recent = Int64.max
    private var began = Instant.zero

    public init() {}

    /// A report has come.
    public mutating func reported(_ ntp: NTPTimestamp, at arrival: Instant) {
        // RFC 3550 §6.4.1: a sender without a wall clock may say zero.
        guard ntp.value != 0 else { return }
        let seen = arrival.nanoseconds &- Self.nanoseconds(ntp)
        guard let offset, abs(seen &- offset) < Self.longestDelay.nanoseconds else {
            offset = seen
            recent = seen
            began = arrival
            return
        }
        recent = min(recent, seen)
        self.offset = min(offset, seen)
        guard arrival - began > Self.memory else { return }
        self.offset = recent
        recent = seen
        began = arrival
    }

    /// When it was here what the publisher's clock says; nil before a report.
    public func moment(of ntp: NTPTimestamp) -> Instant? {
        offset.map { Instant(nanoseconds: Self.nanoseconds(ntp) &+ $0) }
    }

    /// Since 1900, by which a peer names any time until 2036.
    private static func nanoseconds(_ ntp: NTPTimestamp) -> Int64 {
        let (seconds, fraction) = (Int64(ntp.value >> 32), Int64(ntp.value & 0xffff_ffff))
        return seconds * 1_000_000_000 + (fraction * 1_000_000_000) >> 32
    }
}
