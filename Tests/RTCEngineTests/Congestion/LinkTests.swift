import CongestionLinks
import RTCEngine
import Testing

/// Whole calls over links with names (`Benchmarks/congestion`), in virtual time. The bounds are wide: they hold for
/// what the estimator is, not for the last digit of it.
@Suite struct LinkTests {
    private func run(_ profile: LinkProfile) throws -> LinkReport { try LinkSimulation.run(profile) }

    @Test func `a steady link is filled within five seconds, with a short queue`() throws {
        let report = try run(.steady.shortened(to: 30))
        #expect((report.timeToReach(0.75) ?? .infinity) < 5)
        #expect(report.utilisation(from: 10) > 0.75)
        #expect(report.queueDelay(from: 5) < 150)
        #expect(report.dropped(from: 5) < 20)
    }

    @Test func `a step down is followed within seconds, and a step up too`() throws {
        let report = try run(.step.shortened(to: 92))
        #expect(report.utilisation(from: 15, until: 40) > 0.7)
        #expect((report.timeToDrain(below: 200, from: 40, until: 65) ?? .infinity) < 8)
        #expect(report.utilisation(from: 48, until: 65) > 0.6)
        #expect((report.timeToReach(0.7, from: 65) ?? .infinity) < 25)
    }

    @Test func `losses of the air do not stop a call`() throws {
        let report = try run(.loss.shortened(to: 40))
        #expect(report.utilisation(from: 15) > 0.6)
        #expect(report.queueDelay(from: 10) < 200)
    }

    @Test func `a deep queue stays nearly empty`() throws {
        let report = try run(.bufferbloat.shortened(to: 30))
        #expect(report.utilisation(from: 10) > 0.75)
        #expect(report.queueDelay(from: 10) < 300)
    }

    @Test func `a download leaves the call alive, and gives back what it took`() throws {
        let report = try run(.download)
        #expect(report.utilisation(of: 0, from: 25, until: 60) > 0.05)
        #expect(report.utilisation(of: 1, from: 25, until: 60) > 0.2)
        #expect(report.utilisation(of: 0, from: 80) > 0.6)
    }

    @Test func `two calls share`() throws {
        let report = try run(.twoCalls.shortened(to: 100))
        let first = report.utilisation(of: 0, from: 80)
        let second = report.utilisation(of: 1, from: 80)
        #expect(first + second > 0.7)
        #expect(min(first, second) / max(first, second) > 0.4)
    }

    @Test func `a moving phone's link is followed`() throws {
        let report = try run(.radio.shortened(to: 60))
        #expect(report.utilisation(from: 10) > 0.5)
        #expect(report.queueDelay(share: 0.9, from: 10) < 400)
    }

    @Test func `a long way slows the beginning, not the call`() throws {
        let report = try run(.longWay.shortened(to: 30))
        #expect((report.timeToReach(0.75) ?? .infinity) < 15)
        #expect(report.utilisation(from: 15) > 0.7)
        #expect(report.queueDelay(from: 15) < 250)
    }

    @Test func `jitter is no queue`() throws {
        let report = try run(.jittery.shortened(to: 30))
        #expect(report.utilisation(from: 10) > 0.65)
    }

    /// What `goog_cc_network_control_unittest.cc` expects of libwebrtc's target in the same scenario, with its
    /// tolerances; here of the last ten seconds' mean, since a target that is just giving way to a queue is lower.
    @Test func `libwebrtc's scenario of a changing capacity ends each part within libwebrtc's bounds`() throws {
        let report = try run(.libwebrtcCapacity)
        for (end, expected) in [(25.0, 350.0...550), (45, 600...900), (95, 65...115)] {
            let last = report.samples.filter { $0.at.seconds > end - 10 && $0.at.seconds <= end }
            let mean = last.reduce(0) { $0 + $1.targets[0].value } / Double(last.count) / 1_000
            #expect(expected.contains(mean), "after \(end) s")
        }
    }

    @Test func `libwebrtc's scenario of heavy loss ends above libwebrtc's bound`() throws {
        let report = try run(.libwebrtcLoss)
        #expect(try #require(report.samples.last).targets[0] > .kilobits(100))
    }

    @Test func `libwebrtc's scenario beside TCP ends below libwebrtc's bound`() throws {
        let report = try run(.libwebrtcTCP)
        #expect(try #require(report.samples.last).targets[0] < .kilobits(750))
    }

    @Test func `a seed repeats to the last packet`() throws {
        var profile = LinkProfile.radio
        profile.duration = .seconds(Int64(10))
        let first = try LinkSimulation.run(profile, seed: 4)
        let second = try LinkSimulation.run(profile, seed: 4)
        #expect(first.csv == second.csv)
        #expect(first.csv != (try LinkSimulation.run(profile, seed: 5)).csv)
    }
}
