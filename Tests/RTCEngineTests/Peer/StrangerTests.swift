import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Datagrams of somebody who is neither a candidate of the peer's nor has shown the credential.
@Suite struct StrangerTests {
    private static let stranger = endpoint("203.0.113.66", 6_666)

    /// A DTLS alert as the scripted handshake has it: it ends an association.
    private static let alert: [UInt8] = [24]

    private func inject(
        _ bytes: [UInt8], into call: inout CallSimulation, at side: CallSimulation.Side,
        from source: TransportAddress = stranger
    ) {
        guard let base = call[side].bases.first else { return }
        var bytes = bytes
        call.tell(side) { machine, now in machine.receive(&bytes, from: source, to: base, at: now) }
    }

    /// A source of alerts to both sides, every five milliseconds.
    private func pester(_ call: inout CallSimulation) {
        for side in CallSimulation.Side.allCases { inject(Self.alert, into: &call, at: side) }
        call.after(.milliseconds(5)) { pester(&$0) }
    }

    @Test(arguments: [DTLSRole.client, .server])
    func `alerts of a stranger end neither the handshake nor the call`(role: DTLSRole) {
        var call = CallSimulation { $0.answeringRole = role }
        call.begin([.audio])
        pester(&call)
        call.connects()
        call.run(for: .seconds(Int64(1)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call.judge(.audio, at: side).count > 40)
            #expect(call[side].machine.counters.dropped > 200)
        }
        #expect(call.violations == [])
    }

    @Test func `a stranger takes no room that is kept for the peer's first flight`() {
        var call = CallSimulation()
        call.signaling.delay = .milliseconds(400)
        call.signaling.candidateDelays = [.left: .milliseconds(10), .right: .milliseconds(10)]
        call.begin([.audio])
        for _ in 0..<20 { inject(Self.alert, into: &call, at: .left) }
        call.connects()
        #expect((call[.left].connectedAt ?? .zero) < .zero + .milliseconds(1_000))
        #expect(call.violations == [])
    }

    @Test func `media of a stranger is dropped before anything is decrypted`() {
        var call = CallSimulation()
        call.begin([.audio])
        call.connects()
        let before = call[.left].machine.counters
        for _ in 0..<10 { inject([0x80, 111] + [UInt8](repeating: 1, count: 40), into: &call, at: .left) }
        for _ in 0..<10 { inject([0x80, 201] + [UInt8](repeating: 1, count: 40), into: &call, at: .left) }
        #expect(call[.left].machine.counters.unprotectFailures == before.unprotectFailures)
        #expect(call[.left].machine.counters.dropped == before.dropped + 20)
        // The peer's own address is known, and what comes from it is looked at.
        let peer = call[.right].bases[0]
        inject([0x80, 111] + [UInt8](repeating: 1, count: 40), into: &call, at: .left, from: peer)
        #expect(call[.left].machine.counters.unprotectFailures == before.unprotectFailures + 1)
    }

    @Test func `a peer behind a symmetric NAT is known by its checks`() {
        var call = CallSimulation { $0.nats = (nil, .symmetric) }
        call.signaling.trickling = [.left]
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(2)))
        #expect(call.judge(.video, at: .left).count > 20)
        #expect(call.violations == [])
    }

    @Test func `media keeps the selected pair from looking quiet`() {
        var call = CallSimulation()
        call.begin([.audio])
        call.connects()
        for _ in 0..<20 {
            call.run(for: .milliseconds(1_000))
            for side in CallSimulation.Side.allCases {
                let heardAt = call[side].machine.ice.path?.heardAt ?? .zero
                #expect(call.now - heardAt < .milliseconds(500))
            }
        }
    }
}
