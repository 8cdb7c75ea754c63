import RTCWire
import Testing

@testable import RTCEngine

/// The end of an association (RFC 9260 §9).
@Suite struct SCTPEndTests {
    @Test func `shutdown waits until everything has arrived`() throws {
        var pair = SCTPPair.connected()
        for number in 0..<50 { try pair.send(numbered(number, count: 2_000)) }
        pair[.left].shutdown(at: pair.now)
        #expect(throws: SCTPSendError.closed) { try pair.send([1]) }
        pair.run(for: .seconds(Int64(5)))
        #expect(pair.received(by: .right).count == 50)
        #expect(pair.told(.left).last == .closed(.shutdown))
        #expect(pair.told(.right).last == .closed(.shutdown))
        #expect(
            pair.transcript.suffix(3) == ["left: SHUTDOWN", "right: SHUTDOWN ACK", "left: SHUTDOWN COMPLETE"])
    }

    @Test func `both sides shut down at once`() {
        var pair = SCTPPair.connected()
        pair[.left].shutdown(at: pair.now)
        pair[.right].shutdown(at: pair.now)
        pair.run(for: .seconds(Int64(5)))
        #expect(pair.told(.left) == [.closed(.shutdown)])
        #expect(pair.told(.right) == [.closed(.shutdown)])
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `shutdown survives a bad link`(seed: UInt64) throws {
        var conditions = SCTPPair.Conditions()
        conditions.loss = 0.3
        conditions.duplication = 0.1
        conditions.jitter = .milliseconds(50)
        var pair = SCTPPair.connected(seed: seed, conditions: conditions)
        for number in 0..<10 {
            try pair.send(numbered(number, count: 1_500))
            try pair.send(numbered(number, count: 1_500), from: .right)
        }
        pair[.left].shutdown(at: pair.now)
        if seed % 3 == 0 { pair[.right].shutdown(at: pair.now) }
        let isDone = pair.run(until: pair.now + .seconds(Int64(200))) {
            $0[.left].state.isClosed && $0[.right].state.isClosed
        }
        #expect(isDone)
        #expect(pair.received(by: .left).count == 10 && pair.received(by: .right).count == 10)
        #expect(pair[.left].state == .closed(.shutdown) && pair[.right].state == .closed(.shutdown))
    }

    @Test func `abort is told to the peer, and ends both at once`() throws {
        var pair = SCTPPair.connected()
        try pair.send(numbered(1, count: 50_000))
        pair[.left].abort(at: pair.now)
        pair.run(for: .milliseconds(100))
        #expect(pair.told(.left) == [.closed(.aborted)])
        #expect(pair.told(.right) == [.closed(.abortedByPeer(cause: 12))])
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
        #expect(pair[.left].nextWake == nil && pair[.right].nextWake == nil)
    }

    @Test func `what ends before it began says so once`() {
        var pair = SCTPPair()
        pair[.left].start(at: .zero)
        pair[.left].shutdown(at: .zero)
        pair[.left].abort(at: .zero)
        pair[.left].start(at: .zero)
        pair.run(for: .seconds(Int64(5)))
        #expect(pair.told(.left) == [.closed(.shutdown)])
    }

    @Test func `a peer that still has much to send is heard to its end`() throws {
        var conditions = SCTPPair.Conditions()
        conditions.bytesPerSecond = 10_000
        var configuration = SCTPConfiguration()
        configuration.maximumRetransmissions = 3
        var pair = SCTPPair.connected(conditions: conditions, left: configuration, right: configuration)
        for number in 0..<200 { try pair.send(numbered(number, count: 1_000), from: .right) }
        pair[.left].shutdown(at: pair.now)
        pair.run(for: .seconds(Int64(40)))
        #expect(pair.received(by: .left).count == 200)
        #expect(pair.told(.left) == [.closed(.shutdown)])
        #expect(pair.told(.right).last == .closed(.shutdown))
        // RFC 9260 §9.2: each packet of DATA is answered so.
        #expect(pair.transcript.filter { $0 == "left: SACK, SHUTDOWN" }.count > 150)
    }

    @Test func `a peer that never stops sending keeps nobody`() throws {
        var conditions = SCTPPair.Conditions()
        conditions.bytesPerSecond = 10_000
        var pair = SCTPPair.connected(conditions: conditions)
        for number in 0..<1_000 { try pair.send(numbered(number, count: 1_000), from: .right) }
        pair[.left].shutdown(at: pair.now)
        pair.run(for: .seconds(Int64(49)))
        #expect(pair[.left].state == .shutdownSent)
        // T5: five times RTO.Max.
        pair.run(for: .seconds(Int64(2)))
        #expect(pair.told(.left) == [.closed(.peerUnreachable)])
        #expect(pair.told(.right).last == .closed(.abortedByPeer(cause: nil)))
    }

    @Test func `messages in the packet that ends the association are delivered`() throws {
        var pair = SCTPPair.connected()
        let tsn = pair[.right].received.cumulative &+ 1
        pair.inject(
            SCTPText.packet(tag: pair[.right].handshake.localTag) { packet in
                SCTPText.append(SCTPText.data(tsn, stream: 2, interleaved: true), [7], to: &packet)
                packet.appendSCTPChunk(.abort)
            }, to: .right)
        #expect(pair.received(by: .right).map(\.bytes) == [[7]])
        #expect(pair.told(.right) == [.closed(.abortedByPeer(cause: nil))])
    }

    @Test func `who has not heard of the end is told when he sends`() throws {
        var pair = SCTPPair.connected()
        pair.passes = { _, packet in !holds(.abort, packet) }
        pair[.left].abort(at: pair.now)
        pair.run(for: .seconds(Int64(1)))
        #expect(pair[.right].state == .established)
        pair.passes = { _, _ in true }
        try pair.send([1], from: .right)
        pair.run(for: .seconds(Int64(1)))
        #expect(pair.told(.right).last == .closed(.abortedByPeer(cause: nil)))
        #expect(pair.transcript.suffix(2) == ["right: DATA 0/0", "left: ABORT"])
    }

    @Test func `after the end nobody is answered without end, and no ABORT at all`() {
        var pair = SCTPPair.connected()
        pair[.left].abort(at: pair.now)
        pair.run(for: .seconds(Int64(1)))
        let tag = pair[.left].handshake.localTag
        var answers: [Int] = []
        for type in [SCTPChunkType.heartbeat, .initiation, .abort, .shutdownComplete, .shutdownAcknowledgment] {
            pair.forget()
            let packet = SCTPText.packet(tag: type == .initiation ? 0 : tag) { packet in
                if type == .initiation {
                    SCTPConfiguration().initiation(tag: 77, initialTSN: 1).write(.initiation, into: &packet)
                } else {
                    packet.appendSCTPChunk(type)
                }
            }
            for _ in 0..<50 { pair.inject(packet, to: .left) }
            answers.append(pair.transcript.count)
            pair.run(for: .seconds(Int64(1)))
        }
        #expect(answers == [1, 1, 0, 0, 1])
        #expect(pair[.left].nextWake == nil)
    }

    @Test func `a peer that is given up is told, since it may hear us`() throws {
        var pair = SCTPPair.connected()
        pair.passes = { side, _ in side == .left }
        try pair.send([1])
        pair.run(until: pair.now + .seconds(Int64(300))) { $0[.left].state.isClosed }
        pair.run(for: .milliseconds(100))
        #expect(pair.told(.left).last == .closed(.peerUnreachable))
        #expect(pair.told(.right).last == .closed(.abortedByPeer(cause: nil)))
    }

    @Test func `the end of an association before this one is confirmed while this one begins`() {
        var pair = SCTPPair()
        pair[.left].start(at: .zero)
        pair.inject(SCTPText.packet(tag: 4_711) { $0.appendSCTPChunk(.shutdownAcknowledgment) }, to: .left)
        #expect(pair.transcript == ["left: INIT", "left: SHUTDOWN COMPLETE"])
        pair[.right].start(at: .zero)
        pair.run(for: .seconds(Int64(1)))
        #expect(pair[.left].state == .established && pair[.right].state == .established)
    }
}
