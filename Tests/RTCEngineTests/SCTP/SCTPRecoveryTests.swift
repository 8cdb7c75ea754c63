import RTCWire
import Testing

@testable import RTCEngine

/// What is lost is sent again, once and in time (RFC 9260 §6.3, §7.2.4, §8.3).
@Suite struct SCTPRecoveryTests {
    @Test func `a retransmission is not missed by what was sent before it`() {
        var flight = SCTPFlight(initialTSN: 1)
        func send() {
            flight.append(
                SCTPSentChunk(
                    header: SCTPText.data(0), message: [1], range: 0..<1, expiry: nil, retransmissionsLeft: nil,
                    sentAt: .zero, sentBefore: flight.nextTSN))
        }
        func acknowledge(_ tsn: UInt32, _ block: ClosedRange<UInt16>) -> Int? {
            flight.acknowledge(
                upTo: tsn, blocks: [.init(start: block.lowerBound, end: block.upperBound)], isRecovering: true,
                at: .zero)?.foundLosses
        }
        for _ in 1...6 { send() }
        // TSN 4 is lost and sent again behind TSN 6.
        flight.setFate(of: 3, to: .lost)
        flight.sentAgain(3, at: .zero)
        // In recovery each advance counts for all that is missing below the highest block; which is TSN 6.
        #expect(acknowledge(1, 4...5) == 0)
        #expect(acknowledge(2, 3...4) == 0)
        #expect(acknowledge(3, 2...3) == 0)
        #expect(flight.chunks[0].misses == 0)
        #expect(flight.chunks[0].fate == .inFlight)
        // TSN 7 was sent after it.
        send()
        #expect(acknowledge(3, 2...4) == 0)
        #expect(flight.chunks[0].misses == 1)
    }

    @Test func `the timer begins anew with a fast retransmission of the first chunk`() throws {
        var conditions = SCTPPair.Conditions()
        // The retransmission's acknowledgment comes after 730 ms; the first transmission set the timer to 500 ms.
        conditions.delay = .milliseconds(175)
        var pair = SCTPPair.connected(conditions: conditions)
        let lost = SCTPDataLoss(1)
        pair.passes = { _, packet in lost.passes(packet) }
        for number in 0..<6 {
            try pair.send(numbered(number, count: 1_100))
            pair.run(for: .milliseconds(10))
        }
        pair.run(for: .seconds(Int64(2)))
        #expect(pair.received(by: .right).count == 6)
        #expect(pair[.left].statistics.fastRetransmissions == 1)
        #expect(pair[.left].statistics.retransmissionTimeouts == 0)
        #expect(pair[.left].statistics.chunksRetransmitted == 1)
        #expect(pair[.right].statistics.duplicateChunksReceived == 0)
    }

    @Test func `a reset that nobody answers says nothing of the time that data takes`() throws {
        var pair = SCTPPair.connected()
        try pair.send([1])
        pair.run(for: .seconds(Int64(1)))
        let timeout = pair[.left].roundTrip.timeout
        pair.passes = { side, packet in side == .left || !holds(.reconfiguration, packet) }
        pair[.left].resetStreams([4], at: pair.now)
        pair.run(for: .seconds(Int64(10)))
        #expect(pair[.left].roundTrip.timeout == timeout)
        // It is asked again less and less often: after 0.4, 0.8, 1.6 s, and then every 3 s.
        #expect(pair.transcript.filter { $0 == "left: RE-CONFIG" }.count == 6)
        pair.passes = { _, _ in true }
        pair.run(for: .seconds(Int64(10)))
        #expect(pair.told(.left).last == .outgoingStreamsReset([4]))
    }

    @Test(arguments: [5, 25, 55])
    func `a path that comes back is in use within three seconds, however long it was gone`(seconds: Int) throws {
        var pair = SCTPPair.connected()
        pair.passes = { _, _ in false }
        try pair.send([1, 2, 3])
        pair.run(for: .seconds(Int64(seconds)))
        pair.passes = { _, _ in true }
        let isDone = pair.run(until: pair.now + .milliseconds(3_100)) { $0.received(by: .right).count == 1 }
        #expect(isDone, "\(pair.transcript)")
    }

    @Test func `an answered heartbeat takes back what silence did to the timer`() {
        var pair = SCTPPair.connected()
        pair.passes = { _, _ in false }
        pair.run(for: .seconds(Int64(36)))
        #expect(pair[.left].roundTrip.timeout > .seconds(Int64(1)))
        pair.passes = { _, _ in true }
        pair.run(for: .seconds(Int64(10)))
        #expect(pair[.left].roundTrip.smoothed == .milliseconds(50))
        #expect(pair[.left].roundTrip.timeout == .milliseconds(400))
    }

    @Test func `a loss after a long silence waits for a round trip, not for as long as the silence was`() throws {
        var pair = SCTPPair.connected()
        pair.passes = { _, _ in false }
        for number in 0..<6 { try pair.send(numbered(number, count: 1_100)) }
        // The timer expires after 0.5, 1.5, 3.5 and 6.5 s; the next wait would be 3 s.
        pair.run(for: .milliseconds(6_000))
        let lost = SCTPDataLoss(1)
        // The first packet makes it, and of those that its acknowledgment lets go the first does not.
        var isFirst = true
        pair.passes = { side, packet in
            guard side == .left, holds(.data, packet) || holds(.interleavedData, packet) else { return true }
            if isFirst {
                isFirst = false
                return true
            }
            return lost.passes(packet)
        }
        let isDone = pair.run(until: pair.now + .seconds(Int64(2))) { $0.received(by: .right).count == 6 }
        #expect(isDone, "\(pair.transcript)")
        #expect(lost.lost == 1)
        #expect(pair.transcript.contains { $0.hasPrefix("left: HEARTBEAT") })
    }

    @Test func `what is given up when its turn comes is told in the same moment`() throws {
        var pair = SCTPPair.connected()
        pair.passes = { side, _ in side == .right }
        for number in 0..<2 { try pair.send(numbered(number, count: 1_100)) }
        try pair.send(numbered(2, count: 1_100), ordered: false, .maxLifetime(.milliseconds(520)))
        pair.drain()
        // The timer expires after 500 ms. Two leave again, the third waits for the window, and for too long.
        pair.run(for: .milliseconds(490))
        pair.passes = { _, _ in true }
        let isDone = pair.run(until: pair.now + .milliseconds(150)) { $0[.left].holdsNothing }
        #expect(isDone)
        #expect(pair.transcript.dropLast().last == "left: FORWARD TSN")
        #expect(pair[.left].statistics.retransmissionTimeouts == 1)
    }
}
