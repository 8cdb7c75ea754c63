public import RTCWire

/// Where a sender's wall clock and its media clock stood at its last report (RFC 3550 §6.4.1).
public struct SenderClock: Sendable, Hashable {
    /// Zero when the sender has no wall clock.
    public let ntp: NTPTimestamp
    /// Of the media, at the same moment.
    public let timestamp: UInt32
    /// When the report came.
    public let receivedAt: Instant

    public init(ntp: NTPTimestamp, timestamp: UInt32, receivedAt: Instant) {
        self.ntp = ntp
        self.timestamp = timestamp
        self.receivedAt = receivedAt
    }
}

/// What a sender's reports say about a stream that we receive.
struct RemoteSender: Sendable {
    private(set) var lastReport: SenderReport?
    private(set) var lastReportAt: Instant?
    private(set) var reportsReceived: UInt64 = 0

    /// - Parameter reportsReceived: of the same source, by a stream before this one.
    init(reportsReceived: UInt64 = 0) { self.reportsReceived = reportsReceived }

    mutating func receive(_ report: SenderReport, at now: Instant) {
        lastReport = report
        lastReport?.blocks = []
        lastReportAt = now
        reportsReceived += 1
    }

    /// The fields of a report block that let the sender measure the round trip (RFC 3550 §6.4.1).
    func echo(at now: Instant) -> (lastReport: UInt32, delay: UInt32) {
        guard let lastReport, let lastReportAt else { return (0, 0) }
        return (lastReport.ntpTime.middle, (now - lastReportAt).units65536)
    }

    /// Nil before a report.
    var clock: SenderClock? {
        guard let lastReport, let lastReportAt else { return nil }
        return SenderClock(ntp: lastReport.ntpTime, timestamp: lastReport.rtpTimestamp, receivedAt: lastReportAt)
    }

    /// The sender's wall clock when the media with this timestamp was captured; nil before a report.
    func ntp(of timestamp: UInt32, clockRate: UInt32) -> NTPTimestamp? {
        guard let lastReport else { return nil }
        let ticks = Int32(bitPattern: timestamp &- lastReport.rtpTimestamp)
        return lastReport.ntpTime.advanced(
            byNanoseconds: Interval(ticks: Int64(ticks), clockRate: clockRate).nanoseconds)
    }
}
