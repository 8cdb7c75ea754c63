import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// Whatever happens to an agent, in whatever order, some things hold.
@Suite struct ICEPropertyTests {
    /// Plays random facts to one agent: honest and forged datagrams, candidates, restarts, roles, time.
    private struct Chaos {
        var peer: ScriptedPeer
        var random: EngineRandom

        init(seed: UInt64) {
            random = .seeded(seed)
            var configuration = ICEConfiguration()
            configuration.stunServers = [endpoint("203.0.113.53", 3_478)]
            peer = ScriptedPeer(
                role: Bool.random(using: &random) ? .controlling : .controlled, configuration: configuration, seed: seed
            )
        }

        mutating func someAddress() -> TransportAddress {
            endpoint("198.51.100.1", UInt16.random(in: 5_000...5_010, using: &random))
        }

        mutating func step() {
            let address = someAddress()
            let tieBreaker = random.next()
            switch Int.random(in: 0..<14, using: &random) {
            case 0: peer.introduce(isLite: Int.random(in: 0..<8, using: &random) == 0)
            case 1: peer.check([.iceControlling(tieBreaker: tieBreaker)], from: address)
            case 2: peer.check([.iceControlling(tieBreaker: tieBreaker), .useCandidate], from: address)
            case 3: peer.check([.iceControlled(tieBreaker: tieBreaker)], from: address)
            case 4: peer.check(password: "guessed")
            case 5: for request in peer.takeRequests() { peer.confirm(request) }
            case 6: for request in peer.takeRequests() { peer.confirm(request, mapped: address, from: address) }
            case 7: for request in peer.takeRequests() { peer.refuse(request, .roleConflict) }
            case 8: for request in peer.takeRequests() { peer.refuse(request, .badRequest) }
            case 9:
                peer.tell { agent, now in
                    let local = agent.makeRestartParameters()
                    agent.restart(local: local, at: now)
                }
            case 10:
                peer.tell { agent, now in
                    agent.addRemoteCandidate(
                        ICECandidate(
                            foundation: "\(tieBreaker % 3)", priority: UInt32(truncatingIfNeeded: tieBreaker),
                            address: .ip(address), type: .serverReflexive), at: now)
                }
            case 11: peer.tell { agent, now in agent.localHostsComplete(at: now) }
            case 12: peer.tell { agent, now in agent.endOfRemoteCandidates(at: now) }
            default:
                var bytes =
                    peer.outputs.compactMap { if case .send(let bytes, _, _) = $0 { bytes } else { nil } }
                    .last ?? random.bytes(40)
                if let index = bytes.indices.randomElement(using: &random) { bytes[index] ^= 1 << (tieBreaker & 7) }
                peer.send(bytes, from: address)
            }
            peer.wait(.milliseconds(Int64.random(in: 0...3_000, using: &random)))
        }
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `time always goes on, limits hold and states follow each other`(seed: UInt64) {
        var chaos = Chaos(seed: seed)
        for _ in 0..<100 {
            chaos.step()
            let agent = chaos.peer.agent
            // `wait` ticks until nothing is due: a wake that stays in the past would have kept it there.
            if let wake = agent.wake { #expect(wake > chaos.peer.now) }
            #expect(agent.statistics.pairs.count <= 100)
            #expect(agent.hasConsent == (agent.route != nil))
            switch agent.connectionState {
            case .connected, .completed, .disconnected: #expect(agent.hasConsent)
            case .failed, .closed, .new: #expect(!agent.hasConsent)
            // A restart may be checking while the old pair carries on.
            case .checking: break
            }
        }
        chaos.peer.tell { agent, _ in agent.close() }
        #expect(chaos.peer.agent.wake == nil)
        let states = chaos.peer.states
        for (earlier, later) in zip(states, states.dropFirst()) { #expect(earlier != later) }
        #expect(states.last == .closed)
        #expect(states.count { $0 == .closed } == 1)
    }

    @Test func `the chaos does reach every state`() {
        var reached: Set<ICEConnectionState> = []
        for seed in 0..<40 as Range<UInt64> {
            var chaos = Chaos(seed: seed)
            for _ in 0..<100 { chaos.step() }
            reached.formUnion(chaos.peer.states)
        }
        #expect(reached == [.checking, .connected, .completed, .disconnected, .failed])
    }
}
