import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls
@testable import RTCSecurity

/// Calls that change while they go on.
@Suite struct RenegotiatedCallTests {
    private func connected(_ kinds: [MediaKind], answersWith: [MediaKind]? = nil) -> CallSimulation {
        var call = CallSimulation()
        call.begin(kinds, answersWith: answersWith)
        call.connects()
        call.signaling.offersWhenNeeded = true
        call.run(for: .seconds(Int64(1)))
        return call
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `either side adds video to a call with sound, which does not notice`(side: CallSimulation.Side) {
        var call = connected([.audio])
        call.addTrack(.video, to: side)
        call.run(for: .seconds(Int64(2)))
        let video = call.judge(.video, at: side.other)
        #expect(video.count > 20)
        #expect(video.keyFrames == 1)
        for side in CallSimulation.Side.allCases {
            #expect(call.judge(.audio, at: side).skips == 0)
            #expect(call.judge(.audio, at: side).longestPause <= .milliseconds(21))
        }
        #expect(call[side.other].tracks.count == 2)
        #expect(call.violations == [])
    }

    @Test func `keys that are not dialed yet are forgotten by a hold`() throws {
        var call = connected([.audio])
        let id = try #require(call.transceiver(.audio, of: .left))
        let keys = try #require(DialedKeys("1234567890,,,1234567890"))
        call.attempt(.left) { machine, now in try machine.dial(keys, on: id, at: now) }
        call.run(for: .milliseconds(300))
        call.setDirection(.recvonly, of: id, .left)
        call.run(for: .milliseconds(700))
        func sent() -> [UInt64] { call[.left].machine.stats(at: call.now).outboundRTP.map { UInt64($0.packetsSent) } }
        let before = sent()
        call.run(for: .seconds(Int64(12)))
        #expect(sent() == before && call[.left].refusals == [])
    }

    @Test func `a renegotiation in the middle of a repair loses nothing that is held`() {
        var call = connected([.video])
        // Between loss and repair the descriptions change.
        call.setConditions(LinkConditions(delay: .milliseconds(100), loss: 0.3), of: .right)
        for step in 1...5 as ClosedRange<Int64> {
            call.after(.milliseconds(150 * step)) { $0.offer(step % 2 == 0 ? .left : .right) }
        }
        call.run(for: .milliseconds(1_000))
        call.setConditions(.access, of: .right)
        call.run(for: .seconds(Int64(2)))
        #expect(call[.left].refusals == [])
        #expect(call.judge(.video, at: .right).count > 30)
        #expect(call.violations == [])
    }

    @Test func `one transceiver sends track after track, and nothing is remembered of those that have ended`() throws {
        var call = connected([.video])
        let id = try #require(call[.left].machine.transceivers.first).id
        for number in 1...30 {
            call.renewSources(of: id, .left)
            call.offer(.left)
            call.run(for: .milliseconds(500))
            let sender = try #require(call[.left].machine.senders.first)
            let stream = try #require(call[.right].machine.receivers.first?.stream)
            #expect(stream.ssrc == sender.stream.ssrc, "track \(number)")
            #expect(stream.counters.framesReceived > 4)
        }
        let srtp = try #require(call[.left].machine.secure.srtp as? SRTPContext)
        // The picture and its retransmissions.
        #expect(srtp.sentSourceCount <= 2)
        #expect(call[.left].machine.counters.protectFailures == 0)
        #expect(call.violations == [])
    }

    @Test func `an offer that changes nothing is not noticed by media`() {
        var call = connected([.audio, .video])
        for side in CallSimulation.Side.allCases {
            call.offer(side)
            call.run(for: .milliseconds(500))
        }
        for side in CallSimulation.Side.allCases {
            #expect(call[side].refusals == [])
            #expect(call.judge(.video, at: side).keyFrames == 1)
            #expect(call.judge(.video, at: side).skips == 0)
            #expect(call.judge(.audio, at: side).skips == 0)
            #expect(call[side].keyFrameRequests == 1)
        }
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `held video stops, and comes back with a key frame of the same source`(side: CallSimulation.Side) throws {
        var call = connected([.audio, .video])
        let id = try #require(call.transceiver(.video, of: side))
        let ssrc = call[side].machine.stats(at: call.now).outboundRTP.first { $0.kind == "video" }?.ssrc
        call.setDirection(.inactive, of: id, side)
        call.run(for: .milliseconds(300))
        let before = call.judge(.video, at: side.other).count
        call.run(for: .seconds(Int64(1)))
        #expect(call.judge(.video, at: side.other).count == before)
        #expect((call[side].sources[id]?.refused ?? 0) > 10)

        call.setDirection(.sendrecv, of: id, side)
        call.run(for: .seconds(Int64(1)))
        for side in CallSimulation.Side.allCases {
            let judge = call.judge(.video, at: side)
            #expect(judge.count > before + 8)
            #expect(judge.keyFrames == 2)
            #expect(call.judge(.audio, at: side).skips == 0)
            #expect(call[side].machine.counters.protectFailures == 0)
            #expect(call[side].machine.counters.unprotectFailures == 0)
        }
        let after = call[side].machine.stats(at: call.now).outboundRTP.first { $0.kind == "video" }?.ssrc
        #expect(after == ssrc)
        #expect(call.violations == [])
    }

    @Test func `what is counted of a source goes on when it is held and comes back`() throws {
        var call = connected([.video])
        call.run(for: .seconds(Int64(6)))
        let id = try #require(call.transceiver(.video, of: .right))
        let before = try #require(call[.right].machine.stats(at: call.now).inboundRTP.first)
        let reports = try #require(call[.right].machine.stats(at: call.now).remoteOutboundRTP.first).reportsSent
        call.setDirection(.sendonly, of: id, .right)
        call.run(for: .seconds(Int64(1)))
        call.setDirection(.sendrecv, of: id, .right)
        call.run(for: .seconds(Int64(2)))
        let after = try #require(call[.right].machine.stats(at: call.now).inboundRTP.first)
        #expect(after.id == before.id)
        #expect(after.packetsReceived > before.packetsReceived)
        #expect(after.bytesReceived > before.bytesReceived)
        #expect(after.framesReceived > before.framesReceived)
        #expect(after.keyFramesReceived == before.keyFramesReceived + 1)
        let told = try #require(call[.right].machine.stats(at: call.now).remoteOutboundRTP.first)
        #expect(reports > 1 && told.reportsSent > reports)
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `a removed track ends on the other side, and its section serves the next one`(
        side: CallSimulation.Side
    ) throws {
        var call = connected([.audio, .video])
        let id = try #require(call.transceiver(.video, of: side))
        call.setDirection(.stopped, of: id, side)
        call.run(for: .seconds(Int64(1)))
        #expect(call[side.other].endedTracks.count == 1)
        #expect(call[side].machine.transceivers.map(\.kind) == [.audio])
        #expect(call[side.other].machine.transceivers.map(\.kind) == [.audio])
        #expect(call[side].machine.stats(at: call.now).outboundRTP.map(\.kind) == ["audio"])

        call.addTrack(.video, to: side)
        call.run(for: .seconds(Int64(1)))
        #expect(call.judge(.video, at: side.other).count > 5)
        #expect(call[side].machine.localDescription?.sdp.media.count == 2)
        #expect(call.judge(.audio, at: side).skips == 0)
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `who stops a track says goodbye at once, before the descriptions know of it`(
        side: CallSimulation.Side
    ) throws {
        var call = connected([.audio, .video])
        call.signaling.offersWhenNeeded = false
        let id = try #require(call.transceiver(.video, of: side))
        func received() -> Int { call[side.other].machine.receivers.values.filter { $0.stream != nil }.count }
        let before = received()
        call.setDirection(.stopped, of: id, side)
        call.run(for: .milliseconds(300))
        let after = received()
        #expect(before == 2 && after == 1)
        #expect(call[side].machine.transceivers.map(\.direction) == [.sendrecv, .stopped])
        #expect(call.violations == [])
    }

    @Test func `when both offer, the polite side rolls back and both get what they wanted`() {
        var call = connected([.audio])
        call.addTrack(.video, to: .left)
        call.addTrack(.audio, to: .right)
        call.run(for: .seconds(Int64(2)))
        #expect(call[.left].machine.signalingState == .stable)
        #expect(call[.right].machine.signalingState == .stable)
        #expect(call[.left].refusals == [])
        #expect(call[.right].refusals == [])
        #expect(call.judge(.video, at: .right).count > 15)
        // Two sources of sound from right, one from left.
        #expect(call[.left].machine.stats(at: call.now).inboundRTP.filter { $0.kind == "audio" }.count == 2)
        #expect(call[.right].machine.stats(at: call.now).inboundRTP.filter { $0.kind == "audio" }.count == 1)
        #expect(call.violations == [])
    }

    @Test func `a second offer before the answer takes the place of the first`() {
        var call = CallSimulation()
        call.begin([.audio])
        call.run(for: .milliseconds(10))
        call.addTrack(.video, to: .left)
        call.offer(.left)
        call.connects()
        call.run(for: .seconds(Int64(2)))
        #expect(call[.left].refusals == [])
        #expect(call.judge(.audio, at: .right).count > 80)
        #expect(call.judge(.video, at: .right).count > 20)
        #expect(call.violations == [])
    }

    @Test func `another codec after a renegotiation begins with a key frame of its own`() throws {
        var call = connected([.video])
        let id = try #require(call.transceiver(.video, of: .left))
        #expect(call[.left].machine.sendingFormat(of: id) == .vp8)
        try call.tell(.left) { machine, _ in try machine.negotiator.setCodecPreferences([.h264], of: id) }
        call.offer(.left)
        call.run(for: .seconds(Int64(2)))
        #expect(call[.left].machine.sendingFormat(of: id) == .h264)
        #expect(call.judge(.video, at: .right).keyFrames == 2)
        #expect(call.judge(.video, at: .right).count > 30)
        #expect(call.violations == [])
    }

    @Test func `feedback is from a source that the peer knows`() {
        var call = connected([.video])
        for side in CallSimulation.Side.allCases {
            let source = call[side].machine.negotiator.transceivers.first?.ssrc
            let cname = call[side].machine.negotiator.cname
            let configurations = call[side].machine.receivers.values.map(\.stream?.configuration)
            #expect(configurations.map(\.?.localSSRC) == [source])
            #expect(configurations.map(\.?.cname) == [cname])
        }
        call.run(for: .zero)
    }
}
