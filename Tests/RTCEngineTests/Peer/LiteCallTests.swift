import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

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

    /// What comes from the peer's address, once a second, and nothing else.
    enum Sign: CaseIterable {
        case sound, report, data
        /// One packet of sound again and again.
        case repeated
        case forged, handshake

        var isOfPeer: Bool { [.sound, .report, .data].contains(self) }
    }

    private func send(
        _ sign: Sign, _ number: UInt16, to call: inout CallSimulation, lasting: Interval = .seconds(Int64(1))
    ) throws {
        let srtp = try #require(call[.left].machine.secure.srtp)
        var bytes: [UInt8] = []
        switch sign {
        case .sound, .repeated:
            // Of a format that nobody has agreed on: it is not played.
            RTPHeader(marker: false, payloadType: 1, sequenceNumber: number, timestamp: 0, ssrc: 77)
                .write(into: &bytes)
            bytes += [1, 2, 3]
            try srtp.protectRTP(&bytes)
        case .report:
            RTCPPacket.receiverReport(ReceiverReport(ssrc: 77, blocks: [])).write(into: &bytes)
            try srtp.protectRTCP(&bytes)
        case .data: bytes = [25, 1, 2, 3]
        case .forged: bytes = [0x80, 1] + [UInt8](repeating: 1, count: 40)
        case .handshake: bytes = [23] + [UInt8](repeating: 1, count: 40)
        }
        let route = ICERoute(base: CallSimulation.rightBase, remote: CallSimulation.leftBase)
        if sign.isOfPeer || sign == .repeated { call.invariants.heard(over: route, .right, call.now) }
        for _ in 0..<(sign == .repeated ? 40 : 1) {
            call.tell(.right) { machine, now in
                var copy = bytes
                machine.receive(&copy, from: CallSimulation.leftBase, to: CallSimulation.rightBase, at: now)
            }
            call.run(for: lasting)
        }
    }

    @Test(arguments: Sign.allCases)
    func `a lite side lives by what only its peer can have protected`(sign: Sign) throws {
        var call = CallSimulation { $0.liteSide = .right }
        call.begin([.audio])
        call.connects()
        call.run(for: .seconds(Int64(1)))
        call.setConditions(.cut, of: .left)
        for number in 0..<(sign == .repeated ? 1 : 40) { try send(sign, 1_000 + UInt16(number), to: &call) }
        #expect(
            call[.right].connectionStates
                == [.connecting, .connected] + (sign.isOfPeer ? [] : [.disconnected, .failed]))
        #expect(call.violations == [])
    }

    @Test func `a lite side that hears its peer again says so at once`() throws {
        var call = CallSimulation { $0.liteSide = .right }
        call.begin([.audio])
        call.connects()
        call.setConditions(.cut, of: .left)
        call.run(for: .seconds(Int64(15)))
        #expect(call[.right].connectionStates.last == .disconnected)
        try send(.sound, 1_000, to: &call, lasting: .zero)
        #expect(call[.right].connectionStates.last == .connected)
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
