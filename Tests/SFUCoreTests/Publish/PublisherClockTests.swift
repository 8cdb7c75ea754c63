import RTCEngine
import RTCWire
import SFUCore
import Testing

@Suite struct PublisherClockTests {
    private static let began = NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0)
    private var clock = PublisherClock()

    /// A report of so many milliseconds after the beginning, by the publisher's clock, comes at so many of ours.
    private mutating func report(_ theirs: Int64, at ours: Int64) {
        clock.reported(Self.began.advanced(byNanoseconds: theirs * 1_000_000), at: .zero + .milliseconds(ours))
    }

    /// When that report was sent, by ours, to the microsecond.
    private func moment(_ theirs: Int64, at ours: Int64) -> Double? {
        let report = SenderClock(
            ntp: Self.began.advanced(byNanoseconds: theirs * 1_000_000), timestamp: 0,
            receivedAt: .zero + .milliseconds(ours))
        return clock.moment(of: report).map { (Double($0.nanoseconds) / 1_000).rounded() / 1_000 }
    }

    @Test mutating func `nothing is known before a report, nor from a sender without a wall clock`() {
        #expect(moment(0, at: 0) == nil)
        clock.reported(NTPTimestamp(value: 0), at: .zero)
        #expect(moment(0, at: 0) == nil)
    }

    @Test mutating func `the report that took least on its way says most`() {
        report(0, at: 5_040)
        #expect(moment(0, at: 5_040) == 5_040)
        report(1_000, at: 6_010)
        #expect(moment(1_000, at: 6_010) == 6_010)
        report(2_000, at: 7_200)
        #expect(moment(2_000, at: 7_200) == 7_010)
    }

    @Test mutating func `a clock that is slow, or a path that has become longer, is followed within a minute`() {
        report(0, at: 100)
        for second in Int64(1)...62 { report(second * 1_000, at: second * 1_001 + 100) }
        // Since the stretch before the last one began: not the 62 ms that lie between the two ends.
        let behind = 62 * 1_001 + 100 - (moment(62_000, at: 62_162) ?? 0)
        #expect(behind > 0 && behind <= 32)
    }

    @Test mutating func `a clock that was set forward is believed at once, one that was set back after a while`() {
        report(0, at: 100)
        report(3_600_000, at: 1_100)
        #expect(moment(3_600_000, at: 1_100) == 1_100)
        for second in Int64(0)..<5 {
            report(second * 1_000, at: 2_100 + second * 1_000)
            // It could be late: what is forwarded of it is told by when it came.
            #expect(moment(second * 1_000, at: 2_100 + second * 1_000) == nil)
        }
        report(5_000, at: 7_100)
        #expect(moment(5_000, at: 7_100) == 7_100)
        // What was said before it was set says nothing now.
        #expect(moment(3_600_000, at: 1_100) == nil)
    }

    @Test mutating func `a report that was held up on its way changes nothing`() {
        report(0, at: 100)
        report(1_000, at: 4_100)
        report(4_200, at: 4_300)
        #expect(moment(4_200, at: 4_300) == 4_300)
    }

    @Test mutating func `of two clocks in one connection the other one is not taken for the first`() {
        for second in Int64(0)..<20 {
            report(second * 1_000, at: second * 1_000 + 100)
            report(second * 1_000 - 10_000, at: second * 1_000 + 100)
            #expect(moment(second * 1_000, at: second * 1_000 + 100) == Double(second * 1_000 + 100))
            #expect(moment(second * 1_000 - 10_000, at: second * 1_000 + 100) == nil)
        }
    }
}
