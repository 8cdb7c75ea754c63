import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Whole calls between two peer connections: how they begin and how media flows.
@Suite struct CallTests {
    @Test(arguments: [CodecParameters.h264, .vp8], SRTPProfile.allCases)
    func `a call connects and sound and pictures flow both ways`(codec: CodecParameters, profile: SRTPProfile) {
        var call = CallSimulation {
            $0.video = [codec]
            $0.profile = profile
        }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(3)))
        #expect(call.violations == [])
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call[side].refusals == [])
            // 15 pictures and 50 packets of sound a second; the latter begin with the connection.
            #expect(call.judge(.video, at: side).count >= 42)
            #expect(call.judge(.audio, at: side).count >= 145)
            #expect(call.judge(.video, at: side).skips == 0)
            #expect(call.judge(.audio, at: side).skips == 0)
            #expect(call[side].tracks.count == 2)
        }
    }

    @Test(arguments: [DTLSRole.client, .server])
    func `the answerer may open the handshake or leave it to the offerer`(role: DTLSRole) {
        var call = CallSimulation { $0.answeringRole = role }
        call.begin([.audio])
        call.connects()
        #expect(call[.right].machine.secure.role == role)
        #expect(call[.left].machine.secure.role == (role == .client ? .server : .client))
        call.run(for: .seconds(Int64(1)))
        #expect(call.judge(.audio, at: .left).count > 40)
        #expect(call.violations == [])
    }

    @Test(arguments: [true, false])
    func `what tells of arrivals begins with a report where single packets of RTCP were not agreed on`(agreed: Bool) {
        var call = CallSimulation()
        if !agreed { call.signaling.rewrites = { _, text in text.replacing("a=rtcp-rsize\r\n", with: "") } }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(1)))
        #expect(call[.left].machine.feedbackTracker.feedbackReceived > 0)
        call.awaits("arrivals are to be told") { $0[.right].machine.feedbackGenerator?.nextWake != nil }
        let types = call.tell(.right) { machine, now in
            machine.tick(at: now + TransportFeedbackGenerator.intervals.upperBound)
            var types: Set<UInt8> = []
            while let transmit = machine.pollTransmit() {
                if DatagramKind(transmit.bytes) == .rtcp { types.insert(transmit.bytes[1]) }
            }
            return types
        }
        // RFC 3550 §12.1, RFC 4585 §6.1.
        #expect(types.contains(205) == agreed)
        #expect(agreed || !types.isEmpty && types.isSubset(of: [200, 201]))
        #expect(call.violations == [])
    }

    @Test func `an offer with nothing to answer with is a call in one direction`() {
        var call = CallSimulation()
        call.begin(answersWith: [])
        call.connects()
        call.run(for: .seconds(Int64(2)))
        #expect(call.judge(.video, at: .right).count > 25)
        #expect(call.judge(.video, at: .left).count == 0)
        #expect(call[.left].tracks.isEmpty)
        #expect(call.violations == [])
    }

    @Test func `frames made before the connection are passed over, and the first to arrive is a key frame`() {
        var call = CallSimulation { $0.conditions = LinkConditions(delay: .milliseconds(80)) }
        call.begin([.video])
        call.connects()
        call.run(for: .seconds(Int64(1)))
        let judge = call.judge(.video, at: .right)
        #expect((judge.numbers.first ?? 0) > 5)
        #expect(judge.keyFrames == 1)
        #expect(judge.skips == 0)
        #expect(call.violations == [])
    }

    @Test func `a new consumer asks for a key frame and gets one`() {
        var call = CallSimulation()
        call.begin([.video])
        call.connects()
        call.run(for: .seconds(Int64(2)))
        #expect(call.judge(.video, at: .right).keyFrames == 1)
        if let id = call.transceiver(.video, of: .right) {
            call.tell(.right) { machine, now in machine.requestKeyFrame(on: id, at: now) }
        }
        call.run(for: .milliseconds(300))
        #expect(call.judge(.video, at: .right).keyFrames == 2)
        #expect(call.violations == [])
    }

    @Test func `a handshake that overtakes the answer is not lost`() {
        // The answer is slow; candidates, checks and the client's first flight are not.
        var call = CallSimulation()
        call.signaling.delay = .milliseconds(400)
        call.signaling.candidateDelays = [.left: .milliseconds(10), .right: .milliseconds(10)]
        call.begin([.audio])
        call.connects()
        #expect((call[.left].connectedAt ?? .zero) < .zero + .milliseconds(1_000))
        #expect(call.violations == [])
    }

    @Test(arguments: [VirtualSignaling.EarlyCandidates.wait, .pass])
    func `candidates may come before the description they belong to`(early: VirtualSignaling.EarlyCandidates) {
        var call = CallSimulation()
        call.signaling.delay = .milliseconds(100)
        call.signaling.candidateDelays = [.left: .milliseconds(20)]
        call.signaling.earlyCandidates = early
        call.begin([.audio])
        call.connects()
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `candidates of one side are enough, for its peer's checks tell the rest`(side: CallSimulation.Side) {
        var call = CallSimulation()
        call.signaling.trickling = [side]
        call.begin([.audio])
        call.connects()
        #expect(call.violations == [])
    }

    @Test(arguments: [
        (NATKind?.some(.fullCone), NATKind?.some(.symmetric)), (.symmetric, .addressRestricted),
        (.portRestricted, .portRestricted), (.symmetric, nil), (nil, .portRestricted),
    ])
    func `calls go through NATs that can be gone through`(left: NATKind?, right: NATKind?) {
        var call = CallSimulation { $0.nats = (left, right) }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(1)))
        for side in CallSimulation.Side.allCases { #expect(call.judge(.video, at: side).count > 10) }
        #expect(call.violations == [])
    }
}
