import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Calls whose network fails or changes.
@Suite struct RestartedCallTests {
    private func connected(_ adjust: (inout CallSimulation.Options) -> Void = { _ in }) -> CallSimulation {
        var call = CallSimulation(adjust)
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(1)))
        return call
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `media does not notice an ICE restart`(side: CallSimulation.Side) {
        var call = connected()
        let fragments = CallSimulation.Side.allCases.map { call[$0].machine.ice.localParameters.usernameFragment }
        call.offer(side, iceRestart: true)
        call.run(for: .seconds(Int64(3)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].machine.ice.localParameters.usernameFragment != fragments[side.rawValue])
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call[side].refusals == [])
            #expect(call.judge(.audio, at: side).skips == 0)
            #expect(call.judge(.audio, at: side).longestPause <= .milliseconds(21))
            #expect(call.judge(.video, at: side).skips == 0)
        }
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `an answer with other credentials to an offer that restarts nothing is followed`(
        side: CallSimulation.Side
    ) throws {
        var call = connected()
        let local = call[side].machine.ice.localParameters
        let offer = try call.tell(side) { machine, now in
            let offer = try machine.createOffer(iceRestart: false)
            try machine.setLocalDescription(.offer, offer, at: now)
            return offer
        }
        let answer = try call.tell(side.other) { machine, now in
            try machine.setRemoteDescription(.offer, offer, at: now)
            let fresh = machine.ice.makeRestartParameters()
            let answer = try machine.negotiator.createAnswer(ice: fresh)
            try machine.setLocalDescription(.answer, answer, at: now)
            return answer
        }
        try call.tell(side) { machine, now in try machine.setRemoteDescription(.answer, answer, at: now) }
        call.run(for: .seconds(Int64(40)))
        #expect(call[side].machine.ice.localParameters == local)
        #expect(call[side].machine.ice.path?.peer.parameters == call[side.other].machine.ice.localParameters)
        for side in CallSimulation.Side.allCases {
            #expect(call[side].machine.ice.isSettled)
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call[side].refusals == [])
            #expect(call.judge(.audio, at: side).skips == 0)
        }
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `while a restart looks for a pair the one in use stays in the statistics`(side: CallSimulation.Side) throws {
        var call = connected()
        call.offer(side, iceRestart: true)
        for _ in 0..<100 {
            call.run(for: .milliseconds(10))
            let report = call[side].machine.stats(at: call.now)
            let id = try #require(report.transport?.selectedCandidatePairID)
            let pair = try #require(report.candidatePairs.first { $0.id == id })
            #expect(pair.state == "succeeded")
        }
        #expect(call.violations == [])
    }

    @Test func `a line that is cut for 10 seconds comes back by itself`() {
        var call = connected()
        call.setConditions(.cut, of: .right)
        call.run(for: .seconds(Int64(10)))
        #expect(call[.left].connectionStates.last == .disconnected)
        call.setConditions(.access, of: .right)
        call.run(for: .seconds(Int64(6)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected, .disconnected, .connected])
            #expect(call.judge(.video, at: side).keyFrames == 2)
            #expect(call.judge(.video, at: side).skips == 1)
            #expect(call.judge(.video, at: side).count > 60)
        }
        #expect(call.violations == [])
    }

    /// Candidates that come late, or a first search that fails: the handshake's time begins when there is a path.
    @Test(arguments: CallSimulation.Side.allCases)
    func `a call that finds no path for a minute is made by a restart`(side: CallSimulation.Side) {
        var call = CallSimulation()
        call.setConditions(.cut, of: .right)
        call.begin()
        call.run(for: .seconds(Int64(60)))
        for side in CallSimulation.Side.allCases { #expect(call[side].connectionStates.last == .failed) }
        call.setConditions(.access, of: .right)
        call.offer(side, iceRestart: true)
        call.run(for: .seconds(Int64(5)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates.last == .connected)
            #expect(call.judge(.video, at: side).count > 60)
        }
        #expect(call.violations == [])
    }

    /// ICE has its pair and then fails; the handshake's time stands still until a restart finds another.
    @Test(arguments: CallSimulation.Side.allCases)
    func `a call whose line is cut in the midst of the handshake is made by a restart`(side: CallSimulation.Side) {
        var call = CallSimulation { $0.conditions = LinkConditions(delay: .milliseconds(40)) }
        call.begin()
        call.awaits("a pair is selected") { call in
            CallSimulation.Side.allCases.allSatisfy { call[$0].machine.ice.isSettled }
        }
        // It has begun with the first pair that worked: its time would be over before consent is.
        for side in CallSimulation.Side.allCases { #expect(call[side].machine.secure.state == .connecting) }
        call.setConditions(.cut, of: .right)
        call.run(for: .seconds(Int64(60)))
        for side in CallSimulation.Side.allCases { #expect(call[side].connectionStates.last == .failed) }
        call.setConditions(.access, of: .right)
        call.offer(side, iceRestart: true)
        call.connects()
        call.run(for: .seconds(Int64(2)))
        for side in CallSimulation.Side.allCases { #expect(call.judge(.video, at: side).count > 20) }
        #expect(call.violations == [])
    }

    @Test func `a line that is cut for 40 seconds costs the consent, and nothing more is sent`() {
        var call = connected()
        call.setConditions(.cut, of: .right)
        call.run(for: .seconds(Int64(40)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected, .disconnected, .failed])
        }
        let sent = CallSimulation.Side.allCases.map { call[$0].sent }
        call.setConditions(.access, of: .right)
        call.run(for: .seconds(Int64(10)))
        #expect(CallSimulation.Side.allCases.map { call[$0].sent } == sent)
        #expect(call.violations == [])
    }

    /// Whichever side asks for it: the other one, which only answers, lives through the same states (W3C
    /// RTCIceTransportState, RTCPeerConnectionState).
    @Test(arguments: CallSimulation.Side.allCases)
    func `an ICE restart brings a failed call back, with a key frame first`(side: CallSimulation.Side) {
        var call = connected()
        call.setConditions(.cut, of: .right)
        call.run(for: .seconds(Int64(40)))
        call.setConditions(.access, of: .right)
        call.signaling.offersWhenNeeded = true
        call.tell(side) { machine, _ in machine.restartICE() }
        call.connects()
        call.run(for: .seconds(Int64(1)))
        for side in CallSimulation.Side.allCases {
            #expect(
                call[side].iceStates == [
                    .checking, .connected, .completed, .disconnected, .failed, .checking, .connected, .completed,
                ])
            #expect(
                call[side].connectionStates == [
                    .connecting, .connected, .disconnected, .failed, .connecting, .connected,
                ])
            #expect(call.judge(.video, at: side).keyFrames >= 2)
            #expect(call.judge(.video, at: side).count > 25)
        }
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `a restart that is offered and taken back costs the call nothing`(side: CallSimulation.Side) {
        var call = connected()
        // The offer never reaches the peer.
        call.attempt(side) { machine, now in
            let offer = try machine.createOffer(iceRestart: true)
            try machine.setLocalDescription(.offer, offer, at: now)
        }
        call.run(for: .milliseconds(500))
        call.attempt(side) { machine, now in try machine.setLocalDescription(.rollback, nil, at: now) }
        call.run(for: .seconds(Int64(45)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call[side].iceStates.last == .completed)
            #expect(call.judge(.audio, at: side).skips == 0)
        }
        // And the next restart works.
        call.offer(side, iceRestart: true)
        call.run(for: .seconds(Int64(20)))
        for side in CallSimulation.Side.allCases { #expect(call[side].connectionStates == [.connecting, .connected]) }
        #expect(call.violations == [])
    }

    @Test func `an offer of a restart that is not set, or cannot be made, restarts nothing`() {
        var call = connected()
        let before = call[.left].machine.localDescription?.sdp.iceParameters
        let restart = call.attempt(.left) { machine, _ in try machine.createOffer(iceRestart: true) }
        #expect(restart != nil && restart?.iceParameters != before)
        let isNeeded = call[.left].machine.negotiator.negotiationNeeded
        #expect(!isNeeded)
        // While the peer's offer waits for its answer.
        let theirs = call.attempt(.right) { machine, now in
            let offer = try machine.createOffer(iceRestart: false)
            try machine.setLocalDescription(.offer, offer, at: now)
            return offer.text
        }
        call.attempt(.left) { machine, now in
            try machine.setRemoteDescription(.offer, try SessionDescription(parsing: theirs ?? ""), at: now)
        }
        let refused = call.attempt(.left) { machine, _ in try machine.createOffer(iceRestart: true) }
        #expect(refused == nil)
        call.attempt(.left) { machine, now in try machine.setRemoteDescription(.rollback, nil, at: now) }
        let next = call.attempt(.left) { machine, _ in try machine.createOffer(iceRestart: false) }
        #expect(next?.iceParameters == before)
    }

    @Test func `a restart whose answer is lost keeps the old pair, and the next one works`() {
        var call = connected()
        call.attempt(.left) { machine, now in
            let offer = try machine.createOffer(iceRestart: true)
            try machine.setLocalDescription(.offer, offer, at: now)
        }
        let offer = call[.left].machine.localDescription?.sdp.text ?? ""
        call.attempt(.right) { machine, now in
            try machine.setRemoteDescription(.offer, try SessionDescription(parsing: offer), at: now)
            let answer = try machine.createAnswer()
            try machine.setLocalDescription(.answer, answer, at: now)
        }
        call.run(for: .seconds(Int64(40)))
        for side in CallSimulation.Side.allCases { #expect(call[side].connectionStates == [.connecting, .connected]) }
        call.offer(.left, iceRestart: true)
        call.run(for: .seconds(Int64(20)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call.judge(.audio, at: side).skips == 0)
        }
        #expect(call.violations == [])
    }
}
