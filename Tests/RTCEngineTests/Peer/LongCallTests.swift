import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// An hour of a call: what it costs does not grow.
@Suite struct LongCallTests {
    /// What a machine has done, and what waits in it.
    private struct Load {
        var steps: Int
        var sent: Int
        var waiting: Int
    }

    private func load(of call: borrowing CallSimulation) -> Load {
        var waiting = 0
        for side in CallSimulation.Side.allCases {
            waiting += call[side].machine.transmits.count + call[side].machine.events.count
            waiting += call[side].machine.packets.count + call[side].machine.ice.outputs.count
            waiting += call[side].machine.ice.session.earlyChecks.count
            for receiver in call[side].machine.receivers.values { waiting += receiver.stream?.heldPackets ?? 0 }
        }
        return Load(steps: call.steps, sent: call[.left].sent + call[.right].sent, waiting: waiting)
    }

    /// Steps, datagrams and things that wait, minute by minute.
    private func minutes(_ count: Int, of call: inout CallSimulation) -> [Load] {
        var loads: [Load] = []
        var last = load(of: call)
        for _ in 0..<count {
            call.run(for: .seconds(Int64(60)))
            let next = load(of: call)
            loads.append(Load(steps: next.steps - last.steps, sent: next.sent - last.sent, waiting: next.waiting))
            last = next
        }
        return loads
    }

    private func staysFlat(_ loads: [Load], _ what: Comment) {
        // The first minute has the beginning in it.
        let count = min(5, (loads.count - 1) / 2)
        let early = loads[1...count]
        let late = loads.suffix(count)
        let steps = (early.map(\.steps).reduce(0, +), late.map(\.steps).reduce(0, +))
        let sent = (early.map(\.sent).reduce(0, +), late.map(\.sent).reduce(0, +))
        #expect(steps.1 <= steps.0 + steps.0 / 10, what)
        #expect(sent.1 <= sent.0 + sent.0 / 10, what)
        #expect(loads.allSatisfy { $0.waiting < 50 }, what)
    }

    @Test func `an hour of sound costs in its last minutes what it cost in its first`() {
        var call = CallSimulation()
        call.audioStride = 25
        call.begin([.audio])
        call.connects()
        staysFlat(minutes(60, of: &call), "a quiet hour")
        for side in CallSimulation.Side.allCases {
            #expect(call[side].connectionStates == [.connecting, .connected])
        }
        #expect(call.violations == [])
    }

    @Test func `an hour in which the ICE session is restarted every few minutes costs no more at its end`() {
        var call = CallSimulation()
        call.audioStride = 50
        call.begin([.audio])
        call.connects()
        for minute in 1..<12 {
            call.after(.seconds(Int64(minute * 300))) { $0.offer(minute % 2 == 0 ? .left : .right, iceRestart: true) }
        }
        let loads = minutes(60, of: &call)
        staysFlat(loads, "restarts")
        // Half a minute after the last restart nothing is left of it.
        #expect(loads.suffix(4).allSatisfy { $0.steps <= loads[2].steps + loads[2].steps / 20 })
        #expect(call.violations == [])
    }

    @Test func `losses in a long call leave nothing behind`() {
        var call = CallSimulation { $0.conditions = LinkConditions(delay: .milliseconds(30), loss: 0.05) }
        call.audioStride = 25
        call.begin([.audio, .video])
        call.connects()
        staysFlat(minutes(5, of: &call), "losses")
        #expect(call.violations == [])
    }
}
