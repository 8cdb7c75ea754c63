import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Calls of people who change their network.
@Suite struct RoamingCallTests {
    private func connected(_ adjust: (inout CallSimulation.Options) -> Void = { _ in }) -> CallSimulation {
        var call = CallSimulation(adjust)
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(1)))
        return call
    }

    /// The second address of each host.
    private func spare(_ side: CallSimulation.Side) -> TransportAddress {
        side == .left ? endpoint("192.0.2.77", 4_077) : endpoint("198.51.100.77", 5_077)
    }

    private func lose(_ side: CallSimulation.Side, in call: inout CallSimulation) {
        let base = side == .left ? CallSimulation.leftBase : CallSimulation.rightBase
        call.tell(side) { machine, now in machine.interfacesChanged(lost: [base], found: [], at: now) }
    }

    private func find(_ side: CallSimulation.Side, in call: inout CallSimulation) {
        let base = spare(side)
        call.tell(side) { machine, now in machine.interfacesChanged(lost: [], found: [base], at: now) }
    }

    @Test(arguments: CallSimulation.Side.allCases, [true, false])
    func `a call goes on from another address, with signaling and without`(
        side: CallSimulation.Side, hasSignaling: Bool
    ) {
        var call = connected()
        call.signaling.offersWhenNeeded = hasSignaling
        lose(side, in: &call)
        #expect(call[side].connectionStates.last == .disconnected)
        call.run(for: .milliseconds(800))
        find(side, in: &call)
        let count = call.judge(.video, at: side.other).count
        call.run(for: .seconds(Int64(20)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].machine.connectionState == .connected)
            #expect(call[side].refusals == [])
        }
        #expect(call[side].machine.selectedPair?.base == spare(side))
        #expect(call[side.other].machine.selectedPair?.remote == spare(side))
        #expect(call.judge(.video, at: side.other).count > count + 150)
        #expect(call.violations == [])
    }

    @Test func `a client of a lite server moves, and the server follows its nomination`() {
        var call = connected { $0.liteSide = .right }
        lose(.left, in: &call)
        find(.left, in: &call)
        call.run(for: .seconds(Int64(3)))
        #expect(call[.right].machine.selectedPair?.remote == spare(.left))
        call.run(for: .seconds(Int64(60)))
        for side in CallSimulation.Side.allCases { #expect(call[side].machine.connectionState == .connected) }
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `a call through a relay goes on when the address that it was asked from goes`(side: CallSimulation.Side) {
        var call = connected {
            $0.turn = true
            $0.policies = side == .left ? (.relay, .all) : (.all, .relay)
        }
        call.signaling.offersWhenNeeded = true
        let relayed = call[side].machine.selectedPair?.base
        #expect(relayed?.ip == CallSimulation.turnServer.ip)
        find(side, in: &call)
        lose(side, in: &call)
        // Its pairs end with it, and not by their silence, which takes half a minute.
        #expect(call[side].connectionStates.last == .disconnected)
        let count = call.judge(.video, at: side.other).count
        call.run(for: .seconds(Int64(5)))
        for side in CallSimulation.Side.allCases { #expect(call[side].machine.connectionState == .connected) }
        #expect(call[side].machine.selectedPair?.base != relayed)
        #expect(call.judge(.video, at: side.other).count > count + 60)
        #expect(call.violations == [])
    }

    @Test func `a description that is made afterwards shows the addresses that there are`() throws {
        var call = connected()
        find(.left, in: &call)
        lose(.left, in: &call)
        call.offer(.left)
        let shown = call[.left].machine.localDescription?.sdp.media.first?.candidates.compactMap {
            $0.address.transportAddress
        }
        #expect(shown == [spare(.left)])
    }
}
