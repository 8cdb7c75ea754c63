import Testing

@testable import RTCEngine

@Suite struct IntervalTests {
    @Test func `a duration without end becomes a long time, which can be added to any other`() {
        let now = Instant.zero + .seconds(Int64(1_000_000))
        for duration: Duration in [.seconds(Int64.max), .milliseconds(Int64.max), .nanoseconds(Int64.max)] {
            #expect(now + Interval(duration) > now + .seconds(Int64(3_000_000_000)))
            #expect(Instant.zero + Interval(.zero - duration) < Instant.zero)
        }
        #expect(Interval(.seconds(15)) == .seconds(Int64(15)))
        #expect(Interval(.milliseconds(-3)) == .milliseconds(-3))
    }

    @Test func `seconds that no interval holds become a long time, too`() {
        let now = Instant.zero + .seconds(Int64(1_000_000))
        for seconds: Double in [1e10, 1e300, .infinity] {
            #expect(now + Interval.seconds(seconds) > now + .seconds(Int64(3_000_000_000)))
            #expect(Instant.zero + Interval.seconds(-seconds) < Instant.zero)
        }
        #expect(Interval.seconds(Double.nan) == .zero)
        #expect(Interval.seconds(1.5) == .milliseconds(1_500))
    }

    private static let delays: [(UInt32, Int64)] = [
        (0, 0), (1, 15_258), (2, 30_517), (32_768, 500_000_000), (65_536, 1_000_000_000),
        (235_929_600, 3_600_000_000_000), (.max, 65_535_999_984_741),
    ]

    @Test(arguments: delays)
    func `a delay of a report is as long as it says, and is written as it was read`(units: UInt32, nanoseconds: Int64) {
        #expect(Interval(units65536: units) == Interval(nanoseconds: nanoseconds))
        // Rounded down twice, it may be one unit less.
        #expect(units - Interval(units65536: units).units65536 <= 1)
    }
}
