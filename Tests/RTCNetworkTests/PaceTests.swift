import RTCEngine
import RTCNetwork
import Testing

@Suite struct PaceTests {
    private static let start = Instant.zero + .seconds(Int64(100))

    @Test func `so many at once, then one in each interval, and after a rest as many again`() {
        let pace = Pace(perSecond: 2, burst: 3)
        var spent: Instant?
        for _ in 0..<3 { #expect(pace.take(&spent, at: Self.start) == nil) }
        #expect(pace.take(&spent, at: Self.start) == .milliseconds(500))
        #expect(pace.take(&spent, at: Self.start) == .milliseconds(500), "who was told to wait has spent nothing")
        #expect(pace.wait(spent, at: Self.start + .milliseconds(500)) == nil)
        #expect(pace.take(&spent, at: Self.start + .milliseconds(500)) == nil)
        #expect(pace.take(&spent, at: Self.start + .milliseconds(600)) == .milliseconds(400))
        let later = Self.start + .seconds(Int64(60))
        for _ in 0..<3 { #expect(pace.take(&spent, at: later) == nil) }
        #expect(pace.take(&spent, at: later) != nil)
    }

    @Test func `each has a pace of its own, and who was quiet is forgotten for those who come`() {
        var paces = Paces<Int>(Pace(perSecond: 1, burst: 1), limit: 3)
        for key in 0..<3 { #expect(paces.take(key, at: Self.start) == nil) }
        #expect(paces.take(0, at: Self.start) == .seconds(Int64(1)))
        let later = Self.start + .seconds(Int64(2))
        for key in 3..<6 { #expect(paces.take(key, at: later) == nil) }
        #expect(paces.count == 3)
    }

    @Test func `more than are remembered share one pace, and those who are keep theirs`() {
        var paces = Paces<Int>(Pace(perSecond: 1, burst: 2), limit: 100)
        for key in 0..<100 { #expect(paces.take(key, at: Self.start) == nil) }
        let answers = (100..<200).map { paces.take($0, at: Self.start) }
        #expect(answers.count { $0 == nil } == 2)
        #expect(paces.count == 100)
        #expect(paces.take(50, at: Self.start) == nil)
    }
}
