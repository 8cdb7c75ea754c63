import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Calls through a TURN server, in virtual time.
@Suite struct RelayedCallTests {
    /// Both behind NATs that map each destination anew: only the relay is left.
    private func barred(
        _ kinds: [MediaKind] = [.audio, .video], _ adjust: (inout CallSimulation.Options) -> Void = { _ in }
    ) -> CallSimulation {
        var call = CallSimulation {
            $0.nats = (.symmetric, .symmetric)
            $0.turn = true
            adjust(&$0)
        }
        call.begin(kinds)
        return call
    }

    private func types(_ call: CallSimulation, _ side: CallSimulation.Side) -> [ICECandidate.CandidateType] {
        call[side].machine.ice.localCandidates.map(\.type)
    }

    @Test func `two peers that reach nothing but the relay hear and see each other`() {
        var call = barred()
        call.connects()
        call.run(for: .seconds(Int64(5)))
        for side in CallSimulation.Side.allCases {
            let pair = call[side].machine.selectedPair
            let types = [pair?.localCandidate.type, pair?.remoteCandidate.type]
            #expect(types.contains { $0 == .relayed })
            #expect(call.judge(.audio, at: side).skips == 0)
            #expect(call.judge(.video, at: side).count > 60)
            #expect(call[side].candidateErrors == [])
            #expect(call[side].refusals == [])
        }
        #expect(call.network.turnServers.first.map { $0.bytesRelayed > 100_000 } == true)
        #expect(call.violations == [])
    }

    @Test func `media takes channels: nothing but the first packets goes as indications`() {
        var call = barred()
        call.connects()
        call.run(for: .seconds(Int64(1)))
        let before = CallSimulation.Side.allCases.map { call[$0].sentOnChannels }
        call.run(for: .seconds(Int64(1)))
        let after = CallSimulation.Side.allCases.map { call[$0].sentOnChannels }
        // One side at least is the relayed one.
        #expect(zip(before, after).contains { $1 - $0 > 50 })
        #expect(call.violations == [])
    }

    @Test func `a relayed candidate tells its server in the statistics, and the peer's candidates tell none`() {
        var call = CallSimulation {
            $0.turn = true
            $0.policies = (.relay, .all)
        }
        call.begin()
        call.connects()
        let candidates = call[.left].machine.stats(at: call.now).candidates
        let ours = candidates.filter { $0.side == .local }
        #expect(!ours.isEmpty)
        #expect(ours.allSatisfy { $0.relayProtocol == "udp" && $0.url == "turn:turn.example.org" })
        let theirs = candidates.filter { $0.side == .remote }
        #expect(!theirs.isEmpty)
        #expect(theirs.allSatisfy { $0.relayProtocol == nil && $0.url == nil })
        // What the peer has of its own is no relay's either, where it needs none.
        let hosts = call[.right].machine.stats(at: call.now).candidates.filter { $0.candidateType == "host" }
        #expect(hosts.allSatisfy { $0.relayProtocol == nil && $0.url == nil })
    }

    @Test func `with the relay policy nobody learns an address of ours`() {
        var call = CallSimulation {
            $0.turn = true
            $0.policies = (.relay, .relay)
        }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(3)))
        for side in CallSimulation.Side.allCases {
            #expect(types(call, side) == [.relayed])
            #expect(call[side].machine.ice.localCandidates.map(\.relatedAddress) == [endpoint("0.0.0.0", 9)])
            let pair = call[side].machine.selectedPair
            #expect(pair?.localCandidate.type == .relayed)
            #expect(pair?.remoteCandidate.type == .relayed)
            let sdp = call[side].machine.localDescription?.sdp.text ?? ""
            #expect(!sdp.contains("192.0.2.1 ") && !sdp.contains("198.51.100.1 "))
            #expect(sdp.contains("typ relay raddr 0.0.0.0 rport 9"))
            #expect(call.judge(.audio, at: side).skips == 0)
        }
        #expect(call.violations == [])
    }

    @Test func `with the relay policy a check that comes to our own address is not answered`() {
        var call = CallSimulation {
            $0.turn = true
            $0.policies = (.relay, .all)
        }
        call.begin()
        call.connects()
        let before = call[.left].sent
        let parameters = call[.left].machine.ice.localParameters
        var check = STUNMessage(.request, transactionID: .init(high: 5, low: 5))
        check.attributes = [.username("\(parameters.usernameFragment):x"), .priority(1)]
        var bytes = check.encoded(key: HMACSHA1(password: parameters.password))
        call.tell(.left) { machine, now in
            machine.receive(&bytes, from: endpoint("198.51.100.1", 5_000), to: CallSimulation.leftBase, at: now)
        }
        #expect(call[.left].sent == before)
        #expect(call.violations == [])
    }

    @Test func `a relayed candidate names what the server saw and comes after all others`() {
        var call = barred()
        call.connects()
        let candidates = call[.left].machine.ice.localCandidates
        #expect(
            candidates.map(\.type) == [.host, .serverReflexive, .serverReflexive, .relayed]
                || candidates.map(\.type) == [.host, .serverReflexive, .relayed, .serverReflexive])
        let relayed = candidates.first { $0.type == .relayed }
        #expect(relayed?.relatedAddress?.ip == address("203.0.113.1"))
        #expect(candidates.allSatisfy { $0.type == .relayed || $0.priority > relayed?.priority ?? .max })
    }

    @Test func `without need the relay is not used`() {
        var call = CallSimulation { $0.turn = true }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(2)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].machine.selectedPair?.localCandidate.type == .host)
            #expect(types(call, side) == [.host, .relayed])
        }
        #expect(call.network.turnServers.first?.bytesRelayed ?? 0 < 20_000)
    }

    @Test func `eleven minutes through the relay: permissions, channel, nonce and allocation are renewed in time`() {
        var call = barred([.audio]) { $0.policies = (.relay, .relay) }
        call.audioStride = 50
        call.connects()
        for _ in 0..<11 {
            call.run(for: .seconds(Int64(60)))
            for side in CallSimulation.Side.allCases { #expect(call[side].machine.connectionState == .connected) }
        }
        let server = call.network.turnServers.first
        #expect(server?.allocated == 2)
        #expect(server?.errors[438] ?? 0 >= 2)
        #expect(server?.errors[437] == nil)
        for side in CallSimulation.Side.allCases { #expect(call.judge(.audio, at: side).count > 600) }
        #expect(call.violations == [])
    }

    @Test func `a restart goes on with the allocations that there are`() {
        var call = barred { $0.policies = (.relay, .relay) }
        call.connects()
        let relayed = CallSimulation.Side.allCases.map { call[$0].machine.selectedPair?.base }
        call.offer(.left, iceRestart: true)
        call.run(for: .seconds(Int64(3)))
        #expect(CallSimulation.Side.allCases.map { call[$0].machine.selectedPair?.base } == relayed)
        #expect(call.network.turnServers.first?.allocated == 2)
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call.judge(.audio, at: side).skips == 0)
        }
        #expect(call.violations == [])
    }

    @Test func `with relays alone a restart tells again what they see us as, and the direct path stays`() {
        var call = CallSimulation {
            $0.nats = (.portRestricted, .portRestricted)
            ($0.turn, $0.stun) = (true, false)
        }
        call.begin()
        call.connects()
        let all: Set<ICECandidate.CandidateType> = [.host, .serverReflexive, .relayed]
        #expect(Set(types(call, .left)) == all)
        call.offer(.left, iceRestart: true)
        call.run(for: .seconds(Int64(3)))
        for side in CallSimulation.Side.allCases {
            #expect(Set(types(call, side)) == all)
            #expect(call[side].machine.selectedPair?.localCandidate.type != .relayed)
        }
        #expect(call.violations == [])
    }

    @Test func `times of nothing make no flood`() {
        var call = barred([.audio]) {
            $0.policies = (.relay, .relay)
            ($0.ice.turn.keepaliveInterval, $0.ice.turn.margin) = (.zero, .zero)
        }
        call.audioStride = 50
        call.connects()
        let sent = call.network.tally.sent
        call.run(for: .seconds(Int64(10)))
        #expect(call.network.tally.sent - sent < 1_000)
        // The time until permissions are renewed.
        call.run(for: .seconds(Int64(300)))
        #expect(call[.left].machine.connectionState == .connected)
        #expect(call.violations == [])
    }

    @Test func `closing gives the addresses back`() {
        var call = barred { $0.policies = (.relay, .relay) }
        call.connects()
        for side in CallSimulation.Side.allCases { call.close(side) }
        call.run(for: .seconds(Int64(1)))
        #expect(call.network.turnServers.first?.released == 2)
        #expect(call.violations == [])
    }

    @Test func `a server that dies in the middle of a call: it fails within the times of consent`() {
        var call = barred { $0.policies = (.relay, .relay) }
        call.connects()
        call.run(for: .seconds(Int64(1)))
        call.network.turnServers[0].isDown = true
        call.run(for: .seconds(Int64(40)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected, .disconnected, .failed])
        }
        #expect(call.violations == [])
    }

    @Test func `a server that is silent holds up gathering only so long, and is told`() {
        var call = CallSimulation { $0.turn = true }
        call.network.turnServers[0].isDown = true
        call.begin()
        call.connects()
        #expect(call[.left].machine.iceGatheringState == .gathering)
        call.run(for: .seconds(Int64(6)))
        #expect(call[.left].machine.iceGatheringState == .complete)
        call.run(for: .seconds(Int64(6)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].candidateErrors.map(\.errorCode) == [701])
            #expect(call[side].machine.connectionState == .connected)
        }
        #expect(call.violations == [])
    }

    @Test func `a server that was down is asked again by a restart, and then there is a relay`() {
        var call = CallSimulation { $0.turn = true }
        call.network.turnServers[0].isDown = true
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(15)))
        #expect(types(call, .left) == [.host])
        call.network.turnServers[0].isDown = false
        call.offer(.left, iceRestart: true)
        call.run(for: .seconds(Int64(3)))
        #expect(types(call, .left) == [.host, .relayed])
        #expect(call[.left].machine.iceGatheringState == .complete)
        #expect(call.violations == [])
    }

    @Test func `a wrong password is told with its number`() {
        var call = CallSimulation {
            $0.turn = true
            $0.turnPassword = "wrong"
        }
        call.begin()
        call.connects()
        for side in CallSimulation.Side.allCases {
            #expect(call[side].candidateErrors.map(\.errorCode) == [401])
            #expect(call[side].candidateErrors.first?.url == "turn:turn.example.org")
        }
    }

    @Test(arguments: [0.1, 0.3])
    func `a relay behind a line that loses much still serves`(loss: Double) {
        var call = barred {
            $0.policies = (.relay, .relay)
            $0.conditions.loss = loss
        }
        // Four lines between them, one packet in four of a check and its answer at the worse loss.
        call.connects(within: .milliseconds(40_000))
        #expect(call.violations == [])
    }
}
