import Testing

@testable import RTCEngine

/// From arrival times to a verdict about the path (draft-ietf-rmcat-gcc-02 §5.2 to §5.4).
@Suite struct DelayEstimationTests {
    private func at(_ milliseconds: Double) -> Instant { Instant(nanoseconds: Int64(milliseconds * 1e6)) }

    @Test func `packets that leave within five milliseconds are one group`() {
        var groups = PacketGroups()
        #expect(groups.add(sentAt: at(0), arrivedAt: at(50)) == nil)
        #expect(groups.add(sentAt: at(4), arrivedAt: at(55)) == nil)
        #expect(groups.add(sentAt: at(20), arrivedAt: at(70)) == nil)
        #expect(groups.add(sentAt: at(23), arrivedAt: at(75)) == nil)
        // The third group completes the second: it left 19 ms after the first and arrived 20 ms after it.
        let delta = groups.add(sentAt: at(40), arrivedAt: at(90))
        #expect(delta == PacketGroups.Delta(sent: .milliseconds(19), arrived: .milliseconds(20), at: at(75)))
    }

    @Test func `packets that a link held back and let go at once are one group`() {
        var groups = PacketGroups()
        _ = groups.add(sentAt: at(0), arrivedAt: at(50))
        for sent in stride(from: 10.0, through: 60, by: 10) {
            #expect(groups.add(sentAt: at(sent), arrivedAt: at(90 + sent / 100)) == nil)
        }
        let delta = groups.add(sentAt: at(100), arrivedAt: at(140))
        #expect(delta?.sent == .milliseconds(60))
    }

    @Test func `a packet that was overtaken, and a clock that jumps, say nothing`() {
        var groups = PacketGroups()
        _ = groups.add(sentAt: at(0), arrivedAt: at(50))
        _ = groups.add(sentAt: at(20), arrivedAt: at(70))
        #expect(groups.add(sentAt: at(10), arrivedAt: at(71)) == nil)
        _ = groups.add(sentAt: at(40), arrivedAt: at(60_000))
        #expect(groups.add(sentAt: at(60), arrivedAt: at(60_020)) == nil)
        // The next pair of groups is of one clock again.
        _ = groups.add(sentAt: at(80), arrivedAt: at(60_040))
        #expect(groups.add(sentAt: at(100), arrivedAt: at(60_060))?.arrived == .milliseconds(20))
    }

    /// Groups 20 ms apart, each of which takes `growth` longer than the one before; the verdicts.
    private func verdicts(growth: Double, count: Int, noise: Double = 0) -> [PathUse] {
        var trend = DelayTrend()
        var detector = OveruseDetector()
        var random = EngineRandom.seeded(5)
        var arrival = 100.0
        var previous = 0.0
        return (0..<count).map { _ in
            let step = 20 + growth
            let late = noise > 0 ? Double.random(in: 0...noise, using: &random) : 0
            let extra = late - previous
            previous = late
            arrival += step
            let delta = PacketGroups.Delta(
                sent: .milliseconds(20), arrived: Interval(nanoseconds: Int64((step + extra) * 1e6)), at: at(arrival))
            return detector.add(trend: trend.add(delta), sent: delta.sent, at: delta.at)
        }
    }

    @Test func `a queue that grows by a millisecond each twenty is overuse within half a second`() {
        let all = verdicts(growth: 1, count: 60)
        #expect((all.firstIndex(of: .over) ?? .max) < 45)
    }

    @Test func `a steady path is normal use, with noise too`() {
        #expect(verdicts(growth: 0, count: 500).allSatisfy { $0 == .normal })
        let noisy = verdicts(growth: 0, count: 2_000, noise: 4)
        #expect(noisy.filter { $0 == .over }.count < 20)
    }

    @Test func `a queue that drains is underuse`() {
        #expect(verdicts(growth: -1, count: 60).last == .under)
    }

    @Test func `the threshold follows a trend that stays, and not an outlier`() {
        var detector = OveruseDetector()
        _ = detector.add(trend: 20, sent: .milliseconds(20), at: at(0))
        for index in 1..<200 { _ = detector.add(trend: 20, sent: .milliseconds(20), at: at(Double(index) * 20)) }
        #expect(detector.threshold > 18)
        let before = detector.threshold
        _ = detector.add(trend: 400, sent: .milliseconds(20), at: at(5_000))
        #expect(detector.threshold == before)
        for index in 0..<200 { _ = detector.add(trend: 0, sent: .milliseconds(20), at: at(6_000 + Double(index) * 20)) }
        #expect(detector.threshold == 6)
    }

    @Test func `what arrives is measured within a second, and a drop is followed`() {
        var estimate = AcknowledgedBitrate()
        var now = at(0)
        func arrive(_ kilobits: Double, seconds: Double) {
            let end = now + .seconds(seconds)
            while now < end {
                estimate.add(size: 1_000, arrivedAt: now, isLimited: false)
                now += .seconds(8 / kilobits)
            }
        }
        arrive(1_000, seconds: 1)
        #expect((950...1_050).contains((estimate.bitrate?.value ?? 0) / 1_000))
        arrive(300, seconds: 1.5)
        #expect((250...450).contains((estimate.bitrate?.value ?? 0) / 1_000))
    }

    @Test func `a receiver whose clock is set back is measured anew`() {
        var estimate = AcknowledgedBitrate()
        func arrive(_ kilobits: Double, from start: Double, seconds: Double) {
            var now = at(start * 1_000)
            let end = now + .seconds(seconds)
            while now < end {
                estimate.add(size: 1_000, arrivedAt: now, isLimited: false)
                now += .seconds(8 / kilobits)
            }
        }
        arrive(1_000, from: 1_000_000, seconds: 2)
        arrive(300, from: 1, seconds: 3)
        #expect((250...350).contains((estimate.bitrate?.value ?? 0) / 1_000))
    }

    @Test func `the logarithm is that of mathematics`() {
        #expect(abs(2.718_281_828_459_045.naturalLogarithm - 1) < 1e-12)
        #expect(abs(1_000.0.naturalLogarithm - 6.907_755_278_982_137) < 1e-11)
        #expect(abs(1e-6.naturalLogarithm + 13.815_510_557_964_274) < 1e-11)
        #expect(0.0.naturalLogarithm < -1e300)
    }
}
