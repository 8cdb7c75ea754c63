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
}
