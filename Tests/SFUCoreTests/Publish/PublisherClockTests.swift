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

    /// What it is by ours, to the microsecond.
    private func moment(_ theirs: Int64) -> Double? {
        clock.moment(of: Self.began.advanced(byNanoseconds: theirs * 1_000_000)).map {
            (Double($0.nanoseconds) / 1_000).rounded() / 1_000
        }
    }

    @Test mutating func `nothing is known before a report, nor from a sender without a wall clock`() {
        #expect(moment(0) == nil)
        clock.reported(NTPTimestamp(value: 0), at: .zero)
        #expect(moment(0) == nil)
    }

    @Test mutating func `the report that took least on its way says most`() {
        report(0, at: 5_040)
        #expect(moment(0) == 5_040)
        report(1_000, at: 6_010)
        #expect(moment(1_000) == 6_010)
        report(2_000, at: 7_200)
        #expect(moment(2_000) == 7_010)
    }

    @Test mutating func `a clock that is slow, or a path that has become longer, is followed within a minute`() {
        report(0, at: 100)
        for second in Int64(1)...62 { report(second * 1_000, at: second * 1_001 + 100) }
        // Since the stretch before the last one began: not the 62 ms that lie between the two ends.
        let behind = 62 * 1_001 + 100 - (moment(62_000) ?? 0)
        #expect(behind > 0 && behind <= 32)
    }

    @Test mutating func `a clock that was set is believed at once`() {
        report(0, at: 100)
        report(3_600_000, at: 1_100)
        #expect(moment(3_600_000) == 1_100)
        report(5_000, at: 2_100)
        #expect(moment(5_000) == 2_100)
    }
}
