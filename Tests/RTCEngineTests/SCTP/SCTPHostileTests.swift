import RTCWire
import Testing

@testable import RTCEngine

/// Packets that are wrong, old, or meant to hurt.
@Suite struct SCTPHostileTests {
    @Test func `a wrong port, tag or checksum makes a packet nobody's`() throws {
        var configuration = SCTPConfiguration()
        configuration.offersZeroChecksum = false
        var pair = SCTPPair.connected(left: configuration, right: configuration)
        let tag = pair[.left].handshake.localTag
        let abort = SCTPText.packet(tag: tag) { $0.appendSCTPChunk(.abort) }
        var wrong: [[UInt8]] = []
        wrong.append(SCTPText.packet(tag: tag &+ 1) { $0.appendSCTPChunk(.abort) })
        // RFC 9260 §8.5.1 B: a reflected tag is the peer's, not ours.
        wrong.append(
            SCTPText.packet(tag: tag) { $0.appendSCTPChunk(.abort, flags: SCTPChunkFlag.reflectedTag) })
        for offset in [1, 3, 9, 15] {
            var packet = abort
            packet[offset] ^= 1
            wrong.append(packet)
        }
        // RFC 9653: no checksum was agreed to be missing.
        var unsealed = abort
        unsealed.replaceSubrange(8..<12, with: [0, 0, 0, 0])
        wrong.append(unsealed)
        wrong.append(Array(abort.prefix(11)))
        wrong.append([])
        for packet in wrong { pair.inject(packet, to: .left) }
        #expect(pair[.left].state == .established)
        #expect(pair[.left].statistics.packetsDiscarded == wrong.count)
        pair.inject(abort, to: .left)
        #expect(pair[.left].state == .closed(.abortedByPeer(cause: nil)))
    }

    @Test func `a SACK with nonsense acknowledges nothing that was not sent`() throws {
        var pair = SCTPPair.connected()
        let first = pair[.left].flight.nextTSN
        pair.passes = { side, _ in side == .right }
        for number in 0..<8 { try pair.send(numbered(number, count: 1_100)) }
        pair.drain()
        let inFlight = pair[.left].flight.chunks.count
        let tag = pair[.left].handshake.localTag
        let nonsense: [(UInt32, [(UInt16, UInt16)])] = [
            (first &+ 1_000, []), (first &- 1_000, []), (first &- 1, [(0, 0)]), (first &- 1, [(3, 2)]),
            (first &- 1, [(2, 60_000)]), (first &- 1, [(60_000, 60_001)]), (first &+ 0x8000_0000, [(1, 1)]),
        ]
        for (tsn, blocks) in nonsense {
            let sack = SCTPSelectiveAcknowledgment(
                cumulativeTSN: tsn, receiverWindow: 100_000, blocks: blocks.map { .init(start: $0.0, end: $0.1) })
            pair.inject(SCTPText.packet(tag: tag) { sack.write(into: &$0) }, to: .left)
            #expect(pair[.left].flight.chunks.count == inFlight)
            #expect((0..<inFlight).allSatisfy { pair[.left].flight.chunks[$0].fate == .inFlight })
        }
        // Overlapping blocks: what stands before the nonsense counts, once.
        let sack = SCTPSelectiveAcknowledgment(
            cumulativeTSN: first &- 1, receiverWindow: 100_000,
            blocks: [.init(start: 2, end: 3), .init(start: 3, end: 4), .init(start: 5, end: 6)])
        for _ in 0..<2 { pair.inject(SCTPText.packet(tag: tag) { sack.write(into: &$0) }, to: .left) }
        #expect((0..<inFlight).filter { pair[.left].flight.chunks[$0].fate == .acknowledged } == [1, 2])
        pair.passes = { _, _ in true }
        pair.run(for: .seconds(Int64(10)))
        #expect(pair.received(by: .right).count == 8)
        #expect(pair[.left].holdsNothing)
    }

    @Test func `a peer that takes an acknowledgment back gets the data again`() throws {
        var pair = SCTPPair.connected()
        let first = pair[.left].flight.nextTSN
        pair.passes = { side, _ in side == .right }
        for number in 0..<4 { try pair.send(numbered(number, count: 1_100)) }
        pair.drain()
        let tag = pair[.left].handshake.localTag
        for (tsn, blocks) in [(first &- 1, [SCTPSelectiveAcknowledgment.Block(start: 2, end: 4)]), (first, [])] {
            let sack = SCTPSelectiveAcknowledgment(cumulativeTSN: tsn, receiverWindow: 100_000, blocks: blocks)
            pair.inject(SCTPText.packet(tag: tag) { sack.write(into: &$0) }, to: .left)
        }
        #expect((0..<3).allSatisfy { pair[.left].flight.chunks[$0].fate != .acknowledged })
    }

    @Test func `old and repeated packets are acknowledged and not delivered again`() throws {
        var pair = SCTPPair.connected()
        let tape = SCTPTape()
        pair.passes = { side, packet in side == .right || tape.note(packet) }
        for number in 0..<20 { try pair.send(numbered(number, count: 700)) }
        pair.run(for: .seconds(Int64(2)))
        for packet in tape.packets + tape.packets.reversed() { pair.inject(packet, to: .right) }
        pair.run(for: .seconds(Int64(2)))
        #expect(pair.received(by: .right).count == 20)
        #expect(pair[.right].statistics.duplicateChunksReceived == 40)
        #expect(pair[.right].state == .established)
    }

    @Test(arguments: [true, false])
    func `fragments without end do not outgrow the receive buffer`(interleaves: Bool) throws {
        var configuration = SCTPConfiguration()
        configuration.receiveBuffer = 65_536
        configuration.offersInterleaving = interleaves
        var pair = SCTPPair.connected(left: configuration, right: configuration)
        let tag = pair[.right].handshake.localTag
        var tsn = pair[.right].received.cumulative &+ 2
        for round in 0..<3_000 {
            let packet = SCTPText.packet(tag: tag) { packet in
                for index in 0..<20 {
                    // Every second TSN, each on a message of its own, none of them whole.
                    let number = UInt32(round * 20 + index)
                    SCTPText.append(
                        SCTPText.data(
                            tsn, stream: UInt16(number % 500), message: number & 0x7fff, fragment: 1,
                            unordered: index % 2 == 0, first: false, last: false, interleaved: interleaves),
                        [1], to: &packet)
                    tsn &+= 2
                }
            }
            pair[.right].receive(packet.span.bytes, at: pair.now)
            while pair[.right].pollOutput() != nil {}
        }
        #expect(pair[.right].reassembly.held <= 65_536)
        #expect(pair[.right].receiveWindow < 1_000)
        #expect(pair[.right].state == .established)
    }

    @Test func `a message larger than allowed, an empty one and the wrong kind of chunk end the association`() {
        let cases: [(String, (inout [UInt8], UInt32) -> Void)] = [
            ("DATA without data", { SCTPText.append(SCTPText.data($1, interleaved: true), [], to: &$0) }),
            ("DATA and I-DATA in one association", { SCTPText.append(SCTPText.data($1), [1], to: &$0) }),
            (
                "a message larger than a=max-message-size",
                { packet, tsn in
                    for number in UInt32(0)..<3 {
                        let header = SCTPText.data(
                            tsn &+ number, fragment: number, first: number == 0, last: false, interleaved: true)
                        SCTPText.append(header, [UInt8](repeating: 1, count: 400), to: &packet)
                    }
                }
            ),
        ]
        for (reason, write) in cases {
            var configuration = SCTPConfiguration()
            configuration.localMaximumMessageSize = 1_000
            var pair = SCTPPair.connected(right: configuration)
            let tsn = pair[.right].received.cumulative &+ 1
            pair.inject(
                SCTPText.packet(tag: pair[.right].handshake.localTag) { write(&$0, tsn) }, to: .right)
            #expect(pair.told(.right) == [.closed(.protocolViolation(reason))])
            #expect(pair.transcript.last == "right: ABORT")
        }
    }

    @Test func `a stream that was not granted is reported, and its data acknowledged`() {
        var configuration = SCTPConfiguration()
        configuration.streams = 10
        var pair = SCTPPair.connected(right: configuration)
        #expect(throws: SCTPSendError.streamClosing) { try pair.send([1], on: 10) }
        let tsn = pair[.right].received.cumulative &+ 1
        pair.inject(
            SCTPText.packet(tag: pair[.right].handshake.localTag) { packet in
                SCTPText.append(SCTPText.data(tsn, stream: 10, interleaved: true), [1], to: &packet)
                SCTPText.append(SCTPText.data(tsn &+ 1, stream: 9, interleaved: true), [2], to: &packet)
            }, to: .right)
        pair.run(for: .seconds(Int64(1)))
        #expect(pair.received(by: .right).map(\.stream) == [9])
        #expect(pair[.right].received.cumulative == tsn &+ 1)
        #expect(pair.transcript.first == "right: SACK, ERROR" || pair.transcript.first == "right: ERROR")
    }

    @Test func `unknown chunks are passed over, reported, or stop the packet`() {
        var pair = SCTPPair.connected()
        let tag = pair[.right].handshake.localTag
        for (type, answers, goesOn) in [
            (UInt8(0x3f), false, false), (0x7f, true, false), (0xbf, false, true), (0xff, true, true),
        ] {
            let before = pair.transcript.count
            let tsn = pair[.right].received.cumulative &+ 1
            pair.inject(
                SCTPText.packet(tag: tag) { packet in
                    packet += [type, 0, 0, 6, 1, 2, 0, 0]
                    SCTPText.append(SCTPText.data(tsn, stream: 1, unordered: true, interleaved: true), [1], to: &packet)
                }, to: .right)
            #expect(pair.transcript.dropFirst(before).contains { $0.contains("ERROR") } == answers)
            #expect((pair[.right].received.cumulative == tsn) == goesOn)
        }
    }

    @Test func `who interleaves more than there is room for is told so, and does not wait for ever`() {
        var configuration = SCTPConfiguration()
        configuration.receiveBuffer = 16_384
        configuration.localMaximumMessageSize = 8_192
        var pair = SCTPPair.connected(right: configuration)
        let tag = pair[.right].handshake.localTag
        let first = pair[.right].received.cumulative &+ 1
        var begun: UInt32 = 0
        // As the rules ask: one chunk at a time, and each after the SACK for the one before.
        while begun < 100, !pair[.right].state.isClosed {
            let header = SCTPText.data(first &+ begun, stream: UInt16(begun), last: false, interleaved: true)
            pair.inject(
                SCTPText.packet(tag: tag) {
                    SCTPText.append(header, [UInt8](repeating: 1, count: 1_000), to: &$0)
                }, to: .right)
            begun += 1
        }
        #expect((16...32).contains(begun))
        #expect(pair.told(.right) == [.closed(.outOfBuffer)])
        #expect(pair.transcript.last == "right: ABORT")
    }

    @Test func `an application that does not read makes the peer wait, and nobody gives up`() throws {
        var configuration = SCTPConfiguration()
        configuration.receiveBuffer = 16_384
        configuration.localMaximumMessageSize = 8_192
        var pair = SCTPPair.connected(right: configuration)
        pair[.right].setUnread(100_000, at: pair.now)
        for number in 0..<40 { try pair.send(numbered(number, count: 4_000)) }
        pair.run(for: .seconds(Int64(60)))
        #expect(pair.received(by: .right).isEmpty)
        pair[.right].setUnread(0, at: pair.now)
        pair.run(for: .seconds(Int64(60)))
        #expect(pair.received(by: .right).count == 40)
        #expect(pair[.right].state == .established)
    }

    @Test func `an answer that no packet holds does not hold up the others`() {
        var configuration = SCTPConfiguration()
        configuration.maximumPacketSize = 508
        var pair = SCTPPair.connected(right: configuration)
        pair.inject(
            SCTPText.packet(tag: pair[.right].handshake.localTag) { packet in
                packet += [0xff, 0, 2, 88] + [UInt8](repeating: 1, count: 596)
                packet.appendSCTPChunk(.heartbeat, value: [0, 1, 2, 88] + [UInt8](repeating: 1, count: 596))
                packet.appendSCTPChunk(.heartbeat, value: [0, 1, 0, 8, 1, 2, 3, 4])
            }, to: .right)
        #expect(pair.transcript == ["right: ERROR", "right: HEARTBEAT ACK"])
        #expect(pair[.right].control.isEmpty)
    }

    @Test func `a flood of heartbeats is not answered for ever`() {
        var pair = SCTPPair.connected()
        let packet = SCTPText.packet(tag: pair[.right].handshake.localTag) { packet in
            for _ in 0..<100 { packet.appendSCTPChunk(.heartbeat, value: [0, 1, 0, 8, 1, 2, 3, 4]) }
        }
        for _ in 0..<100 { pair[.right].receive(packet.span.bytes, at: pair.now) }
        #expect(pair[.right].control.count <= 64)
        pair.drain()
        #expect(pair[.right].control.isEmpty)
    }
}

/// Keeps packets for later.
final class SCTPTape {
    private(set) var packets: [[UInt8]] = []

    func note(_ packet: [UInt8]) -> Bool {
        packets.append(packet)
        return true
    }
}
