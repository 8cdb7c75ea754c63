import RTCWire
import Testing

@testable import RTCEngine

/// Messages that are given up (RFC 3758, RFC 7496).
@Suite struct SCTPPartialReliabilityTests {
    private func connected(_ interleaves: Bool) -> SCTPPair {
        var configuration = SCTPConfiguration()
        configuration.offersInterleaving = interleaves
        return SCTPPair.connected(left: configuration, right: configuration)
    }

    @Test(arguments: [true, false], [true, false])
    func `a message without retransmissions is sent once, and those behind it do not wait for it`(
        interleaves: Bool, ordered: Bool
    ) throws {
        var pair = connected(interleaves)
        let lost = SCTPDataLoss(1)
        pair.passes = { _, packet in lost.passes(packet) }
        try pair.send([1, 1], ordered: ordered, .maxRetransmits(0))
        pair.drain()
        try pair.send([2, 2], ordered: ordered)
        pair.run(for: .seconds(Int64(5)))
        #expect(pair.received(by: .right).map(\.bytes) == [[2, 2]])
        #expect(pair.transcript.contains("left: FORWARD TSN"))
        #expect(pair[.left].statistics.messagesAbandoned == 1)
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
    }

    @Test(arguments: [true, false])
    func `as many retransmissions as asked for, no more`(interleaves: Bool) throws {
        var pair = connected(interleaves)
        let lost = SCTPDataLoss(.max)
        pair.passes = { _, packet in lost.passes(packet) }
        try pair.send([1, 1], .maxRetransmits(3))
        pair.run(for: .seconds(Int64(30)))
        #expect(lost.lost == 4)
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
        #expect(pair[.left].state == .established)
    }

    @Test(arguments: [true, false])
    func `a message whose time is over is not sent again, nor the rest of it at all`(interleaves: Bool) throws {
        var pair = connected(interleaves)
        let lost = SCTPDataLoss(.max)
        pair.passes = { _, packet in lost.passes(packet) }
        // More than the first window holds: some of it is never sent.
        try pair.send(numbered(1, count: 60_000), .maxLifetime(.milliseconds(200)))
        pair.run(for: .milliseconds(300))
        let sent = lost.lost
        pair.passes = { _, _ in true }
        try pair.send([2, 2])
        pair.run(for: .seconds(Int64(10)))
        #expect(sent < 20)
        #expect(pair.received(by: .right).map(\.bytes) == [[2, 2]])
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
    }

    @Test(arguments: [true, false])
    func `a message that may not wait at all leaves where it can at once, and is not sent again`(isLost: Bool) throws {
        var pair = connected(false)
        let lost = SCTPDataLoss(isLost ? 1 : 0)
        pair.passes = { _, packet in lost.passes(packet) }
        try pair.send([1], .maxLifetime(.zero))
        pair.run(for: .seconds(Int64(5)))
        #expect(pair.received(by: .right).map(\.bytes) == (isLost ? [] : [[1]]))
        #expect(pair[.left].statistics.messagesAbandoned == (isLost ? 1 : 0))
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
    }

    @Test func `what waits too long is not sent at all`() throws {
        var pair = SCTPPair()
        try pair.send([1], .maxLifetime(.milliseconds(100)))
        try pair.send([2])
        pair.run(for: .milliseconds(500))
        pair.startBoth()
        pair.run(for: .seconds(Int64(1)))
        #expect(pair.received(by: .right).map(\.bytes) == [[2]])
        #expect(pair.transcript.filter { $0.contains("DATA") }.count == 1)
    }

    @Test(arguments: [true, false])
    func `a lost FORWARD TSN is sent again`(interleaves: Bool) throws {
        var pair = connected(interleaves)
        let data = SCTPDataLoss(1)
        let forward = SCTPLossCounter(interleaves ? .interleavedForwardTSN : .forwardTSN, 2)
        pair.passes = { _, packet in data.passes(packet) && forward.passes(packet) }
        try pair.send([1], .maxRetransmits(0))
        pair.run(for: .seconds(Int64(10)))
        #expect(forward.lost == 2)
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
        try pair.send([2])
        pair.run(for: .seconds(Int64(1)))
        #expect(pair.received(by: .right).map(\.bytes) == [[2]])
    }

    @Test(arguments: [true, false])
    func `a stream whose first message is given up before a reset and after it goes on`(interleaves: Bool) throws {
        var pair = connected(interleaves)
        for round in UInt8(0)..<3 {
            let lost = SCTPDataLoss(1)
            pair.passes = { _, packet in lost.passes(packet) }
            try pair.send([round, 1], on: 6, .maxRetransmits(0))
            pair.run(for: .seconds(Int64(5)))
            #expect(lost.lost == 1)
            if round == 2 { try pair.send([round, 2], on: 6) }
            pair.run(for: .seconds(Int64(1)))
            pair[.left].resetStreams([6], at: pair.now)
            pair.run(for: .seconds(Int64(2)))
        }
        #expect(pair.received(by: .right).map(\.bytes) == [[2, 2]])
        #expect(pair[.left].statistics.messagesAbandoned == 3)
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
    }

    @Test func `towards a peer without FORWARD TSN everything is reliable`() throws {
        var pair = SCTPPair.connected()
        pair[.left].queue.mayAbandon = false
        let lost = SCTPDataLoss(2)
        pair.passes = { _, packet in lost.passes(packet) }
        try pair.send([1], .maxRetransmits(0))
        pair.run(for: .seconds(Int64(10)))
        #expect(pair.received(by: .right).map(\.bytes) == [[1]])
    }
}

/// Loses the first packets with user data.
final class SCTPDataLoss {
    private var left: Int
    private(set) var lost = 0

    init(_ number: Int) { left = number }

    func passes(_ packet: [UInt8]) -> Bool {
        guard left > 0, holds(.data, packet) || holds(.interleavedData, packet) else { return true }
        left -= 1
        lost += 1
        return false
    }
}
