import RTCWire

/// What the receiver's reports say about a stream that we send.
struct RemoteReception: Sendable {
    private(set) var lastBlock: ReportBlock?
    private(set) var lastBlockAt: Instant?
    /// In seconds.
    private(set) var jitter: Double = 0
    /// The last measurement; nil before the first.
    private(set) var roundTripTime: Interval?
    private(set) var totalRoundTripTime = Interval.zero
    private(set) var roundTripTimeMeasurements: UInt64 = 0
    private(set) var reportsReceived: UInt64 = 0

    mutating func receive(_ block: ReportBlock, clockRate: UInt32, ntp: NTPTimestamp, at now: Instant) {
        reportsReceived += 1
        lastBlock = block
        lastBlockAt = now
        jitter = clockRate > 0 ? Double(block.jitter) / Double(clockRate) : 0
        // RFC 3550 §6.4.1: A - LSR - DLSR, all in 1/65,536 s; without a sender report there is nothing to measure.
        guard block.lastSenderReport != 0 else { return }
        let units = Int32(bitPattern: ntp.middle &- block.lastSenderReport &- block.delaySinceLastSenderReport)
        // A peer may claim a delay longer than the time that passed, or times long gone: not a measurement.
        guard units >= 0, units < 60 << 16 else { return }
        let measured = max(Interval(units65536: UInt32(units)), .microseconds(15))
        roundTripTime = measured
        totalRoundTripTime = totalRoundTripTime + measured
        roundTripTimeMeasurements += 1
    }
}
