import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Another ICE transport policy in the course of a call, in virtual time.
@Suite struct TransportPolicyTests {
    private func connected(_ adjust: (inout CallSimulation.Options) -> Void = { _ in }) -> CallSimulation {
        var call = CallSimulation {
            $0.turn = true
            adjust(&$0)
        }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(1)))
        return call
    }

    private func choose(_ policy: ICETransportPolicy, _ side: CallSimulation.Side, _ call: inout CallSimulation) {
        call.attempt(side) { machine, _ in try machine.setTransportPolicy(policy) }
    }

    private func types(_ call: CallSimulation, _ side: CallSimulation.Side) -> [ICECandidate.CandidateType] {
        call[side].machine.ice.localCandidates.map(\.type)
    }

    @Test func `another policy waits for the next offer, which is a restart, and the call goes on`() {
        var call = connected()
        choose(.relay, .left, &call)
        call.run(for: .seconds(Int64(1)))
        #expect(types(call, .left) == [.host, .relayed])
        #expect(call[.left].machine.selectedPair?.localCandidate.type == .host)

        call.offer(.left)
        #expect(types(call, .left) == [.relayed])
        // Until there is another one.
        #expect(call[.left].machine.selectedPair?.localCandidate.type == .host)
        call.run(for: .seconds(Int64(3)))
        #expect(types(call, .left) == [.relayed])
        #expect(call[.left].machine.selectedPair?.localCandidate.type == .relayed)
        #expect(call[.right].machine.selectedPair?.remoteCandidate.type == .relayed)
        #expect(call[.right].machine.ice.session.remotes.allSatisfy { $0.address != CallSimulation.leftBase })
        let sdp = call[.left].machine.localDescription?.sdp.text ?? ""
        #expect(sdp.contains("typ relay raddr 0.0.0.0 rport 9") && !sdp.contains("192.0.2.1 "))
        for side in CallSimulation.Side.allCases { #expect(call.judge(.audio, at: side).skips == 0) }

        choose(.all, .left, &call)
        call.offer(.left)
        call.run(for: .seconds(Int64(3)))
        #expect(types(call, .left) == [.host, .relayed])
        for side in CallSimulation.Side.allCases {
            #expect(call[side].machine.selectedPair?.localCandidate.type == .host)
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call[side].refusals == [])
        }
        // The policy is as it was gathered by: this is no restart.
        let fragment = call[.left].machine.ice.localParameters.usernameFragment
        call.offer(.left)
        #expect(call[.left].machine.ice.localParameters.usernameFragment == fragment)
        #expect(call.violations == [])
    }

    @Test func `once relays alone are used a check that comes to our own address is not answered`() {
        var call = connected()
        choose(.relay, .left, &call)
        call.offer(.left)
        call.run(for: .seconds(Int64(3)))
        let before = call[.left].sent
        let parameters = call[.left].machine.ice.localParameters
        var check = STUNMessage(.request, transactionID: .init(high: 5, low: 5))
        check.attributes = [.username("\(parameters.usernameFragment):x"), .priority(1)]
        var bytes = check.encoded(key: HMACSHA1(password: parameters.password))
        call.tell(.left) { machine, now in
            machine.receive(&bytes, from: CallSimulation.rightBase, to: CallSimulation.leftBase, at: now)
        }
        #expect(call[.left].sent == before)
        #expect(call.violations == [])
    }

    @Test func `while a restart looks for a relayed pair, the one in use keeps its consent`() {
        var call = connected()
        choose(.relay, .left, &call)
        // The answer never comes.
        call.attempt(.left) { machine, now in
            let offer = try machine.createOffer(iceRestart: false)
            try machine.setLocalDescription(.offer, offer, at: now)
        }
        call.run(for: .seconds(Int64(45)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call[side].machine.selectedPair?.localCandidate.type == .host)
        }
        #expect(call.violations == [])
    }

    @Test func `from relays alone a restart by the peer leads to all candidates, those of STUN servers too`() {
        var call = connected {
            $0.nats = (.portRestricted, .portRestricted)
            $0.policies = (.relay, .relay)
        }
        for side in CallSimulation.Side.allCases {
            #expect(types(call, side) == [.relayed])
            choose(.all, side, &call)
        }
        call.offer(.right, iceRestart: true)
        call.run(for: .seconds(Int64(5)))
        for side in CallSimulation.Side.allCases {
            #expect(Set(types(call, side)) == [.host, .serverReflexive, .relayed])
            #expect(call[side].machine.selectedPair?.localCandidate.type != .relayed)
            #expect(call[side].connectionStates == [.connecting, .connected])
        }
        #expect(call.violations == [])
    }

    @Test func `an offer that is taken back leaves the policy to the next one`() {
        var call = connected()
        choose(.relay, .left, &call)
        call.attempt(.left) { machine, now in
            let offer = try machine.createOffer(iceRestart: false)
            try machine.setLocalDescription(.offer, offer, at: now)
        }
        #expect(types(call, .left) == [.relayed])
        call.attempt(.left) { machine, now in try machine.setLocalDescription(.rollback, nil, at: now) }
        #expect(types(call, .left) == [.host, .relayed])
        call.offer(.left)
        #expect(types(call, .left) == [.relayed])
    }

    @Test func `an offer that is taken back tells no address that has come meanwhile`() {
        var call = connected()
        choose(.relay, .left, &call)
        call.attempt(.left) { machine, now in
            let offer = try machine.createOffer(iceRestart: false)
            try machine.setLocalDescription(.offer, offer, at: now)
        }
        let found = endpoint("192.0.2.77", 4_000)
        call.tell(.left) { machine, now in machine.interfacesChanged(lost: [], found: [found], at: now) }
        call.attempt(.left) { machine, now in try machine.setLocalDescription(.rollback, nil, at: now) }
        #expect(types(call, .left) == [.host, .relayed])
    }

    /// With a first offer that never reaches the peer, nor do the candidates that are looked for.
    private func gathering() -> CallSimulation {
        var call = CallSimulation { $0.turn = true }
        call.addTrack(.audio, to: .left)
        call.signaling.trickling = []
        call.peers[CallSimulation.Side.left.rawValue].hasGathered = true
        let (bases, turn) = (call[.left].bases, call[.left].turn)
        call.attempt(.left) { machine, now in
            let offer = try machine.createOffer(iceRestart: false)
            try machine.setLocalDescription(.offer, offer, at: now)
            for base in bases { machine.addLocalHost(base, at: now) }
            machine.setServers(stun: [], turn: turn, at: now)
            machine.localHostsComplete(at: now)
        }
        return call
    }

    @Test func `a relay that is there once relays alone are wanted does not tell from where it was asked for`() {
        var call = gathering()
        choose(.relay, .left, &call)
        call.run(for: .seconds(Int64(1)))
        let relay = call[.left].machine.ice.localCandidates.first { $0.type == .relayed }
        #expect(relay?.relatedAddress == endpoint("0.0.0.0", 9))
        #expect(call.violations == [])
    }

    private static let eitherWay = [true, false]

    @Test(arguments: eitherWay, eitherWay)
    func `after a first offer that was taken back no description shows an address of ours`(
        isChosenBefore: Bool, isAnswering: Bool
    ) {
        var call = gathering()
        call.run(for: .seconds(Int64(1)))
        #expect(types(call, .left) == [.host, .relayed])

        if isChosenBefore { choose(.relay, .left, &call) }
        call.attempt(.left) { machine, now in try machine.setLocalDescription(.rollback, nil, at: now) }
        if !isChosenBefore { choose(.relay, .left, &call) }
        call.signaling.trickling = [.left, .right]
        if isAnswering {
            call.addTrack(.audio, to: .right)
            call.offer(.right)
        } else {
            call.peers[CallSimulation.Side.right.rawValue].bringsAlong = [.audio]
            call.offer(.left)
        }
        call.connects()
        call.run(for: .seconds(Int64(2)))
        #expect(types(call, .left) == [.relayed])
        #expect(call[.left].machine.selectedPair?.localCandidate.type == .relayed)
        // Neither told, nor checked from.
        #expect(call[.right].machine.ice.session.remotes.allSatisfy { $0.address != CallSimulation.leftBase })
        let sdp = call[.left].machine.localDescription?.sdp.text ?? ""
        #expect(sdp.contains("typ relay") && !sdp.contains("typ host"))
        for side in CallSimulation.Side.allCases { #expect(call[side].refusals == []) }
        #expect(call.violations == [])
    }

    @Test(arguments: [ICETransportPolicy.all, .relay])
    func `before anything is gathered it counts at once`(policy: ICETransportPolicy) {
        var call = CallSimulation {
            $0.turn = true
            $0.policies = (policy == .all ? .relay : .all, .all)
        }
        choose(policy, .left, &call)
        call.begin()
        call.connects()
        let expected: [ICECandidate.CandidateType] = policy == .all ? [.host, .relayed] : [.relayed]
        #expect(types(call, .left) == expected)
        #expect(call.violations == [])
    }

    @Test func `a closed connection refuses another policy`() {
        var call = connected()
        call.close(.left)
        choose(.relay, .left, &call)
        #expect(call[.left].refusals == ["\(PeerError.closed)"])
    }
}
