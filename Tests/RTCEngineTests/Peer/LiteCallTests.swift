import RTCWire
import Testing

@testable import RTCEngine

/// Calls between a client and a server whose agent is lite.
@Suite struct LiteCallTests {
    @Test(arguments: CallSimulation.Side.allCases, [nil, NATKind.portRestricted, .symmetric])
    func `media flows both ways, whichever side is lite, and goes on through restarts`(
        liteSide: CallSimulation.Side, nat: NATKind?
    ) {
        var call = CallSimulation {
            $0.liteSide = liteSide
            $0.nats = liteSide == .left ? (nil, nat) : (nat, nil)
        }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(1)))
        for side in CallSimulation.Side.allCases {
            call.offer(side, iceRestart: true)
            call.run(for: .seconds(Int64(3)))
        }
        call.run(for: .seconds(Int64(40)))
        for side in CallSimulation.Side.allCases {
            #expect(call[side].refusals == [])
            #expect(call[side].connectionStates == [.connecting, .connected])
            #expect(call.judge(.audio, at: side).skips == 0)
            #expect(call.judge(.video, at: side).count > 600)
        }
        #expect(call[liteSide].machine.ice.statistics.requestsSent == 0)
        #expect(call.violations == [])
    }

    @Test func `a lite side that loses its peer stops sending, and a restart by the peer brings the call back`() {
        var call = CallSimulation { $0.liteSide = .right }
        call.begin()
        call.connects()
        call.setConditions(.cut, of: .left)
        call.run(for: .seconds(Int64(40)))
        #expect(call[.right].connectionStates == [.connecting, .connected, .disconnected, .failed])
        let sent = call[.right].sentBesidesSTUN
        call.run(for: .seconds(Int64(5)))
        #expect(call[.right].sentBesidesSTUN == sent)
        call.setConditions(.access, of: .left)
        call.offer(.left, iceRestart: true)
        call.connects()
        #expect(call.violations == [])
    }
}
