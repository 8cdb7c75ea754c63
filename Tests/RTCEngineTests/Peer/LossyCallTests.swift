import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Calls over bad lines: what is lost is sent again or skipped, and never shown broken.
@Suite struct LossyCallTests {
    /// Two such lines make a way of 40 to 90 ms that loses 5 % of the packets.
    private static let lossy = LinkConditions(delay: .milliseconds(20), jitter: .milliseconds(25), loss: 0.025)

    @Test(arguments: [CodecParameters.h264, .vp8], [true, false])
    func `with 5 percent loss every picture arrives or is skipped to a key frame`(
        codec: CodecParameters, usesRTX: Bool
    ) {
        var call = CallSimulation {
            $0.conditions = Self.lossy
            $0.video = [codec]
            $0.usesRTX = usesRTX
        }
        call.begin([.video])
        call.connects()
        call.run(for: .seconds(Int64(10)))
        #expect(call.violations == [])
        for side in CallSimulation.Side.allCases {
            let judge = call.judge(.video, at: side)
            #expect(judge.count > 130, "of 150")
            #expect(judge.skips <= 2)
            let stats = call[side.other].machine.stats(at: call.now)
            let sender = stats.outboundRTP.first
            #expect((sender?.retransmittedPacketsSent ?? 0) > 5)
            #expect((sender?.rtxSSRC != nil) == usesRTX)
            // Each was protected once and only once: what is sent again without RTX is the same bytes.
            #expect(call[side.other].machine.counters.protectFailures == 0)
        }
    }

    @Test(arguments: [false, true])
    func `who cannot read in time, and loses most of it, is sent every lost packet again once and not ten times`(
        once: Bool
    ) throws {
        var call = CallSimulation()
        call.begin([.video])
        call.connects()
        call.network.setDownlink(LinkConditions(delay: .milliseconds(20), loss: 0.6), of: call[.right].host)
        let end = call.now + .seconds(Int64(5))
        while call.now < end {
            if once { call[.right].machine.askOnce(until: call.now + .milliseconds(500)) }
            call.run(for: .milliseconds(100))
        }
        #expect(call.violations == [])
        let sender = try #require(call[.left].machine.stats(at: call.now).outboundRTP.first)
        let share = Double(sender.retransmittedPacketsSent) / Double(sender.ownPacketsSent)
        #expect(once ? 0.3..<0.7 ~= share : share > 0.8, "\(share)")
    }

    @Test func `sound goes on without what is lost`() {
        var call = CallSimulation { $0.conditions = Self.lossy }
        call.begin([.audio])
        call.connects()
        call.run(for: .seconds(Int64(5)))
        #expect(call.violations == [])
        let judge = call.judge(.audio, at: .right)
        #expect((215...249).contains(judge.count))
        #expect(judge.longestPause < .milliseconds(250))
    }

    @Test func `reordered and repeated packets make the same frames, once`() {
        var call = CallSimulation {
            $0.conditions = LinkConditions(
                delay: .milliseconds(10), jitter: .milliseconds(20), duplication: 0.2, reordering: 0.3)
        }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(4)))
        #expect(call.violations == [])
        #expect(call.judge(.video, at: .right).skips == 0)
        #expect(call.judge(.video, at: .right).count >= 55)
        // What came twice was refused by SRTP, and nothing else was.
        #expect(call[.right].machine.counters.unprotectFailures > 20)
    }

    @Test func `after a break that no retransmission covers, pictures go on with a key frame`() {
        var call = CallSimulation()
        call.begin([.video])
        call.connects()
        call.run(for: .seconds(Int64(1)))
        call.setConditions(.cut, of: .right)
        call.run(for: .seconds(Int64(3)))
        call.setConditions(.access, of: .right)
        call.run(for: .seconds(Int64(2)))
        let judge = call.judge(.video, at: .right)
        #expect(judge.skips == 1)
        #expect(judge.keyFrames == 2)
        #expect(judge.longestPause < .milliseconds(4_000))
        #expect(call.violations == [])
    }
}
