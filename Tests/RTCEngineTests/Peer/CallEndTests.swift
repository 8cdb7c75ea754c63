import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// How calls end, in time and before their time.
@Suite struct CallEndTests {
    @Test(arguments: CallSimulation.Side.allCases)
    func `an impostor's certificate is refused, and no media is ever sent`(impostor: CallSimulation.Side) {
        var call = CallSimulation { $0.impostor = impostor }
        call.begin()
        call.run(for: .seconds(Int64(5)))
        let honest = impostor.other
        #expect(call[honest].connectionStates == [.connecting, .failed])
        #expect(call[honest].reasons.last == "the certificate is not the one that was promised")
        #expect(call[impostor].connectedAt == nil)
        for side in CallSimulation.Side.allCases {
            #expect(call[side].machine.secure.isProtected == false)
            #expect(call.judge(.audio, at: side).count == 0)
            #expect(call[side].machine.senders.values.allSatisfy { $0.stream.counters.packetsSent == 0 })
        }
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `when one side closes, the other is closed and knows why`(side: CallSimulation.Side) {
        var call = CallSimulation()
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(1)))
        call.close(side)
        call.run(for: .milliseconds(100))
        #expect(call[side].reasons.last == "closed by this side")
        #expect(call[side.other].reasons.last == "the peer closed the connection")
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates.last == .closed)
            let wake = call[side].machine.nextWake
            #expect(wake == nil)
        }
        #expect(call.violations == [])
    }

    @Test func `when the goodbye is lost the other side finds out by itself`() {
        var call = CallSimulation()
        call.begin([.audio])
        call.connects()
        call.setConditions(.cut, of: .right)
        call.close(.left)
        call.run(for: .seconds(Int64(40)))
        #expect(call[.right].connectionStates == [.connecting, .connected, .disconnected, .failed])
        #expect(call.violations == [])
    }

    @Test func `a call may be closed before it begins, twice, and refuses everything afterwards`() {
        var call = CallSimulation()
        call.close(.left)
        call.close(.left)
        #expect(call[.left].connectionStates == [.closed])
        #expect(call.addTrack(.audio, to: .left) == nil)
        call.offer(.left)
        #expect(call[.left].refusals == Array(repeating: "\(PeerError.closed)", count: 2))
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases, [0, 1, 2, 3, 4, 5, 6, 7])
    func `a close at any moment of the set-up leaves no timer, no datagram and no event behind`(
        side: CallSimulation.Side, part: Int
    ) {
        // Every step of the simulation until the call stands: about 150.
        var index = part
        while true {
            var call = CallSimulation { $0.nats = (.portRestricted, nil) }
            call.begin([.audio, .video])
            let limit = call.now + .milliseconds(10_000)
            while call.steps < index, !call.bothConnected { call.step(until: limit) }
            let isOver = call.bothConnected
            call.close(side)
            let sent = call[side].sent
            call.run(for: .milliseconds(1_000))
            #expect(call.violations == [], "after \(index) steps")
            #expect(call[side].connectionStates.last == .closed)
            let wake = call[side].machine.nextWake
            #expect(wake == nil)
            #expect(call[side].sent == sent)
            guard !isOver else { break }
            index += 8
        }
        #expect(index > 40)
    }
}
