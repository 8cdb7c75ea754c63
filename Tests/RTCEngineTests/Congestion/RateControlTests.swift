import RTCWire
import Testing

@testable import RTCEngine

/// Up and down: what delay, losses, probes and silence make of the rate.
@Suite struct RateControlTests {
    private typealias Result = TransportFeedbackTracker.PacketResult

    @Test func `far from the capacity the rate grows by 8 percent a second, near it by some packets`() {
        var control = RateControl(start: .megabits(1), minimum: .kilobits(30))
        var now = Instant.zero
        func second(acknowledged: Bitrate) {
            for _ in 0..<10 {
                now += .milliseconds(100)
                control.update(.normal, acknowledged: acknowledged, roundTrip: .milliseconds(50), at: now)
            }
        }
        control.update(.normal, acknowledged: .megabits(1), roundTrip: .milliseconds(50), at: now)
        second(acknowledged: .megabits(1))
        #expect((1_075...1_090).contains(control.rate.value / 1_000))
        control.update(.over, acknowledged: .megabits(1), roundTrip: .milliseconds(50), at: now)
        #expect(control.rate == .kilobits(850))
        control.update(.normal, acknowledged: .kilobits(850), roundTrip: .milliseconds(50), at: now)
        second(acknowledged: .kilobits(850))
        #expect((880...940).contains(control.rate.value / 1_000))
    }

    @Test func `the rate does not grow beyond one and a half times what arrives`() {
        var control = RateControl(start: .megabits(1), minimum: .kilobits(30))
        for step in 0..<600 {
            control.update(
                .normal, acknowledged: .kilobits(800), roundTrip: .milliseconds(50),
                at: .zero + .milliseconds(Int64(step) * 100))
        }
        #expect(control.rate == .kilobits(1_210))
    }

    @Test func `a queue that drains is waited for`() {
        var control = RateControl(start: .megabits(1), minimum: .kilobits(30))
        for step in 0..<100 {
            control.update(
                .under, acknowledged: .megabits(1), roundTrip: .milliseconds(50),
                at: .zero + .milliseconds(Int64(step) * 100))
        }
        #expect(control.rate == .megabits(1))
    }

    /// Packets of 1,200 bytes at a rate, of which some are lost; the limit in the end.
    private func lossLimit(rate: Bitrate, seconds: Int, loss: (Int) -> Bool) -> Bitrate? {
        var control = LossControl()
        var now = Instant.zero
        var number = 0
        for _ in 0..<seconds * 10 {
            var results: [Result] = []
            for _ in 0..<Int(rate.bytes(in: .milliseconds(100)) / 1_200) {
                now += rate.time(forBytes: 1_200)
                results.append(Result(sentAt: now, size: 1_200, arrivedAt: loss(number) ? nil : now))
                number += 1
            }
            control.update(results, delayBased: rate, acknowledged: rate * 0.8, minimum: .kilobits(30), at: now)
        }
        return control.limit
    }

    @Test func `without losses they do not limit`() {
        #expect(lossLimit(rate: .megabits(2), seconds: 10) { _ in false } == nil)
    }

    @Test func `losses of one in five at a high rate are a full queue`() {
        let limit = lossLimit(rate: .megabits(2), seconds: 10) { $0 % 5 == 0 }
        #expect((100...1_700).contains((limit?.value ?? 0) / 1_000))
    }

    @Test func `after losses a probe may show that there is room again, which sending less cannot`() {
        var control = LossControl()
        var now = Instant.zero
        func send(_ rate: Bitrate, seconds: Int, losing: Bool) {
            for number in 0..<Int(rate.bytes(in: .seconds(Int64(seconds))) / 1_200) {
                now += rate.time(forBytes: 1_200)
                control.update(
                    [Result(sentAt: now, size: 1_200, arrivedAt: losing && number % 3 == 0 ? nil : now)],
                    delayBased: .megabits(2), acknowledged: rate, minimum: .kilobits(30), at: now)
            }
        }
        send(.megabits(1), seconds: 5, losing: true)
        #expect(!control.isCalm(at: now))
        // The next layer does not fit: of what is allowed a third is sent.
        send(.kilobits(100), seconds: 20, losing: false)
        #expect((control.limit ?? .megabits(9)) < .kilobits(400))
        #expect(control.isCalm(at: now))
        control.probed(.kilobits(800), delayBased: .megabits(2))
        #expect(control.limit == .kilobits(800))
        control.probed(.kilobits(500), delayBased: .megabits(2))
        #expect(control.limit == .kilobits(800))
        control.probed(.megabits(3), delayBased: .megabits(2))
        #expect(control.limit == nil)
    }

    @Test func `where everything is paused, what is wanted begins the probes of a path that is new`() {
        var control = CongestionControl(CongestionConfiguration())
        control.receive(ReceiverEstimatedBitrate(senderSSRC: 1, bitrate: 2_000_000, ssrcs: [2]), at: .zero)
        control.pathChanged(at: .zero + .seconds(Int64(1)))
        #expect(!control.isBusy)
        control.setGoal(.kilobits(100), at: .zero + .seconds(Int64(2)))
        #expect(!control.isBusy)
        control.setGoal(.megabits(1), at: .zero + .seconds(Int64(3)))
        #expect(control.isBusy)
    }

    @Test func `losses of before a pause do not limit after it, and a silent path is not probed at once`() {
        var control = LossControl()
        func send(from start: Int64, _ count: Int64, losing: Bool) {
            for number in 0..<count {
                let now = Instant.zero + .milliseconds(start + 10 * number)
                control.update(
                    [Result(sentAt: now, size: 1_200, arrivedAt: losing && number % 3 == 0 ? nil : now)],
                    delayBased: .megabits(2), acknowledged: .kilobits(500), minimum: .kilobits(30), at: now)
            }
        }
        send(from: 0, 200, losing: true)
        #expect(control.lossRatio > 0.2)
        send(from: 10_000, 20, losing: false)
        #expect(control.lossRatio == 0)
        control.backOff(to: .kilobits(100), at: .zero + .seconds(Int64(11)))
        #expect(!control.isCalm(at: .zero + .seconds(Int64(12))))
        #expect(control.isCalm(at: .zero + .seconds(Int64(17))))
    }

    @Test func `losses that nothing is known of any more do not keep a probe away`() {
        var control = LossControl()
        for number in 0..<100 as Range<Int64> {
            let now = Instant.zero + .milliseconds(10 * number)
            control.update(
                [Result(sentAt: now, size: 1_200, arrivedAt: number % 3 == 0 ? nil : now)], delayBased: .megabits(1),
                acknowledged: .kilobits(500), minimum: .kilobits(30), at: now)
        }
        #expect(!control.isCalm(at: .zero + .seconds(Int64(5))))
        #expect(control.isCalm(at: .zero + .seconds(Int64(7))))
    }

    @Test func `losses of one in fifty are the path's own`() {
        let limit = lossLimit(rate: .megabits(1), seconds: 20) { $0 % 50 == 0 }
        #expect((limit ?? .megabits(1)) > .kilobits(850))
    }

    @Test func `the draft's control grows below 2 percent, waits below 10 and falls above`() {
        let limits = Bitrate.kilobits(30)...Bitrate.megabits(5)
        func run(loss: Int32) -> Bitrate {
            var control = ReportedLossControl(start: .kilobits(500))
            for step in 0..<11 {
                control.receive(
                    ReportBlock(
                        ssrc: 7, fractionLost: 0, cumulativeLost: loss * Int32(step),
                        highestSequenceNumber: UInt32(step * 100), jitter: 0, lastSenderReport: 0,
                        delaySinceLastSenderReport: 0),
                    roundTrip: .milliseconds(50), limits: limits, at: .zero + .seconds(Int64(step)))
            }
            return control.rate
        }
        #expect((1_070...1_100).contains(run(loss: 0).value / 1_000))
        #expect(run(loss: 5) == .kilobits(500))
        #expect((150...180).contains(run(loss: 20).value / 1_000))
    }

    @Test func `after many sources that have ended, the losses of the next one are seen`() {
        let limits = Bitrate.kilobits(30)...Bitrate.megabits(5)
        var control = ReportedLossControl(start: .kilobits(500))
        func report(_ ssrc: UInt32, lost: Int32, highest: UInt32, second: Int64) {
            control.receive(
                ReportBlock(
                    ssrc: ssrc, fractionLost: 0, cumulativeLost: lost, highestSequenceNumber: highest, jitter: 0,
                    lastSenderReport: 0, delaySinceLastSenderReport: 0),
                roundTrip: .milliseconds(50), limits: limits, at: .zero + .seconds(second))
        }
        for ssrc: UInt32 in 0..<300 {
            let second = Int64(ssrc)
            for step in 0..<3 as Range<Int64> {
                report(ssrc, lost: 0, highest: UInt32(step), second: second + step)
            }
        }
        let before = control.rate
        for step in 0..<10 as Range<Int64> {
            report(1_000, lost: Int32(step) * 30, highest: UInt32(step) * 100, second: 400 + step)
        }
        #expect(control.rate < before * 0.4)
    }

    @Test func `the peer's own estimate bounds the rate, and is believed in the beginning`() {
        var control = ReportedLossControl(start: .kilobits(300))
        let limits = Bitrate.kilobits(30)...Bitrate.megabits(5)
        control.receive(peerEstimate: .megabits(2), limits: limits, at: .zero)
        #expect(control.rate == .kilobits(1_800))
        control.receive(peerEstimate: .kilobits(400), limits: limits, at: .zero + .seconds(Int64(5)))
        #expect(control.rate == .kilobits(400))
        control.receive(peerEstimate: .megabits(9), limits: limits, at: .zero + .seconds(Int64(6)))
        #expect(control.rate == .kilobits(400))
    }

    @Test func `a probe shows the slower of leaving and arriving`() {
        func probe(arrivalEvery interval: Int64) -> Bitrate? {
            var results = ProbeResults()
            results.expect(ProbeCluster(id: 1, rate: .megabits(4), at: .zero))
            var estimate: Bitrate?
            for index in 0..<8 as Range<Int64> {
                let result = Result(
                    sentAt: Instant.zero + .milliseconds(2 * index), size: 1_000,
                    arrivedAt: Instant.zero + .milliseconds(40 + interval * index), probe: 1)
                estimate = results.add(result) ?? estimate
            }
            return estimate
        }
        #expect(probe(arrivalEvery: 2) == .megabits(4))
        // Twice as slow: the path is full, and a little less is taken.
        #expect(probe(arrivalEvery: 4) == .kilobits(1_900))
        #expect(probe(arrivalEvery: 0) == nil)
    }

    @Test(arguments: [
        [248, 74, 240], [74, 74, 74, 248, 74, 74, 300], [1_150, 290, 290, 290, 1_160], [600, 180, 1_740],
    ])
    func `a probe of packets that differ shows its rate when it ends with as much as it began with, and no less before`(
        sizes: [Int]
    ) throws {
        let rate = Bitrate.kilobits(419)
        var results = ProbeResults()
        var cluster = ProbeCluster(id: 1, rate: rate, at: .zero)
        cluster.packets = sizes.count
        cluster.bytes = sizes.reduce(0, +)
        results.expect(cluster)
        var sent = Instant.zero
        var shown: [Double] = []
        for (place, size) in sizes.enumerated() {
            // The last piece is two packets.
            for bytes in place == sizes.count - 1 ? [size / 2, size - size / 2] : [size] {
                let result = Result(sentAt: sent, size: bytes, arrivedAt: sent + .milliseconds(40), probe: 1)
                if let estimate = results.add(result) { shown.append(estimate.value / rate.value) }
            }
            sent += rate.time(forBytes: Double(size))
        }
        #expect(abs(try #require(shown.last) - 1) < 0.03, "\(shown)")
        #expect(shown.allSatisfy { $0 > 0.9 }, "\(shown)")
    }

    @Test func `probes begin at three and six times the start and go on while they succeed`() {
        var plan = ProbePlan()
        plan.begin(start: .kilobits(300), maximum: .megabits(20), at: .zero)
        #expect(plan.take()?.rate == .kilobits(900))
        #expect(plan.take()?.rate == .kilobits(1_800))
        #expect(plan.take() == nil)
        plan.resulted(in: .kilobits(1_000), maximum: .megabits(20), at: .zero)
        #expect(plan.take() == nil)
        plan.resulted(in: .kilobits(1_700), maximum: .megabits(20), at: .zero)
        #expect(plan.take()?.rate == .kilobits(3_400))
        plan.resulted(in: .kilobits(3_300), maximum: .megabits(20), at: .zero)
        #expect(plan.take()?.rate == .megabits(5))
        plan.resulted(in: .megabits(5), maximum: .megabits(20), at: .zero)
        #expect(plan.take() == nil)
    }

    @Test func `after a deep fall the way back is probed, five seconds later`() {
        var plan = ProbePlan()
        plan.begin(start: .kilobits(300), maximum: .megabits(20), at: .zero)
        while plan.take() != nil {}
        var probes: [(Double, Bitrate)] = []
        for step in 0..<200 {
            let now = Instant.zero + .milliseconds(Int64(step) * 100)
            plan.update(
                estimate: step < 50 ? .megabits(2) : .kilobits(500), wanted: nil, maximum: .megabits(20),
                isLimited: false, isCalm: true, at: now)
            if let cluster = plan.take() { probes.append(((now - Instant.zero).seconds, cluster.rate)) }
        }
        #expect(probes.first?.0 ?? 0 >= 9.9)
        #expect(probes.first?.1 == .megabits(1))
        #expect(probes.count == 2)
    }

    @Test func `the next layer is probed for while the path is calm and the estimate below it, later each time`() {
        var plan = ProbePlan()
        plan.begin(start: .kilobits(300), maximum: .megabits(20), at: .zero)
        while plan.take() != nil {}
        var probes: [(Double, Bitrate)] = []
        for step in 0..<400 {
            let now = Instant.zero + .milliseconds(Int64(step) * 100)
            plan.update(
                estimate: step < 320 ? .kilobits(500) : .megabits(2), wanted: nil,
                goal: (100..<200).contains(step) ? nil : .kilobits(step % 2 == 0 ? 1_700 : 1_690),
                maximum: .megabits(20), isLimited: false, isCalm: step % 3 == 0, at: now)
            if let cluster = plan.take() { probes.append(((now - Instant.zero).seconds, cluster.rate)) }
        }
        #expect(probes.map { $0.0.rounded() } == [5, 20, 30])
        #expect(probes.allSatisfy { $0.1 >= .kilobits(1_859) && $0.1 <= .kilobits(1_870) })
    }

    @Test func `a layer that is taken away again after its probe is tried later and later, a lower one at once`() {
        var plan = ProbePlan()
        plan.begin(start: .kilobits(300), maximum: .megabits(20), at: .zero)
        while plan.take() != nil {}
        var probes: [Double] = []
        var probedAt: Instant?
        for step in 0..<1_050 {
            let now = Instant.zero + .milliseconds(Int64(step) * 100)
            // The probe comes through, and what is sent then does not.
            let isHigh = probedAt.map { now - $0 < .seconds(Int64(2)) } ?? false
            plan.update(
                estimate: isHigh ? .kilobits(720) : .kilobits(500), wanted: nil,
                goal: step < 1_010 ? .kilobits(700) : .kilobits(550),
                maximum: .megabits(20), isLimited: false, isCalm: true, at: now)
            guard plan.take() != nil else { continue }
            probes.append((now - Instant.zero).seconds.rounded())
            probedAt = now
        }
        let pauses = zip(probes, probes.dropFirst()).map { $1 - $0 }
        #expect(pauses == [10, 20, 30, 30, 6], "\(probes)")
    }

    @Test func `silence halves the rate three times, and what comes back begins anew`() {
        var estimator = BandwidthEstimator(CongestionConfiguration().inOrder)
        estimator.sent(1_200, at: .zero)
        _ = estimator.receive(
            [Result(sentAt: .zero, size: 1_200, arrivedAt: .zero)], at: .zero + .milliseconds(50))
        let before = estimator.target
        var now = Instant(nanoseconds: 100_000_000)
        var rates = [before]
        while now < Instant.zero + .seconds(Int64(10)) {
            estimator.sent(1_200, at: now)
            if let wake = estimator.nextWake, wake <= now { estimator.tick(at: now) }
            if estimator.target != rates.last { rates.append(estimator.target) }
            now = now + .milliseconds(20)
        }
        #expect(rates.count == 4)
        #expect(before == .kilobits(300))
        #expect(estimator.target == Bitrate(bitsPerSecond: Int64(37_500)))
        let early = estimator.takeComeBack()
        #expect(!early)
        let lost = (0..<50).map { _ in Result(sentAt: now, size: 1_200, arrivedAt: nil) }
        _ = estimator.receive(lost, at: now)
        let first = estimator.takeComeBack()
        let second = estimator.takeComeBack()
        #expect(first)
        #expect(!second)
        #expect(estimator.target == Bitrate(bitsPerSecond: Int64(37_500)))
    }

    @Test func `the last packets before a pause say nothing of the path`() {
        var estimator = BandwidthEstimator(CongestionConfiguration().inOrder)
        estimator.sent(1_200, at: .zero)
        _ = estimator.receive(
            [Result(sentAt: .zero, size: 1_200, arrivedAt: .zero)], at: .zero + .milliseconds(50))
        let before = estimator.target
        // A picture of five packets, lost, once in three seconds.
        for second in stride(from: Int64(1), to: 30, by: 3) {
            let now = Instant.zero + .seconds(second)
            for packet in 0..<5 as Range<Int64> { estimator.sent(1_200, at: now + .milliseconds(packet)) }
            while let wake = estimator.nextWake { estimator.tick(at: wake) }
        }
        #expect(estimator.target == before)
        let early = estimator.takeComeBack()
        #expect(!early)
    }

    @Test func `a peer that never sends feedback leaves the beginning as it is`() {
        var estimator = BandwidthEstimator(CongestionConfiguration().inOrder)
        for step in 0..<100 as Range<Int64> { estimator.sent(1_200, at: Instant.zero + .milliseconds(step * 20)) }
        #expect(estimator.nextWake == nil)
        #expect(estimator.target == .kilobits(300))
    }
}
