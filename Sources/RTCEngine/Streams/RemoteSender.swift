import RTCWire

/// What a sender's reports say about a stream that we receive.
struct RemoteSender: Sendable {
    private(set) var lastReport: SenderReport?
    private(set) var lastReportAt: Instant?
    private(set) var reportsReceived: UInt64 = 0

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

    /// Where the sender's wall clock and its media clock stood at its last report; nil before one.
    var clock: (ntp: NTPTimestamp, timestamp: UInt32)? { lastReport.map { ($0.ntpTime, $0.rtpTimestamp) } }

    /// The sender's wall clock when the media with this timestamp was captured; nil before a report.
    func ntp(of timestamp: UInt32, clockRate: UInt32) -> NTPTimestamp? {
        guard let lastReport else { return nil }
        let ticks = Int32(bitPattern: timestamp &- lastReport.rtpTimestamp)
        return lastReport.ntpTime.advanced(
            byNanoseconds: Interval(ticks: Int64(ticks), clockRate: clockRate).nanoseconds)
    }
}
