import RTCWire
import Testing

@testable import RTCEngine

/// Messages from one side to the other (RFC 9260 §6, §7).
@Suite struct SCTPTransferTests {
    @Test func `small messages share a packet, and one SACK answers two packets`() throws {
        var pair = SCTPPair.connected()
        for number in 0..<5 { try pair.send(numbered(number, count: 8)) }
        #expect(pair[.left].bufferedAmount(of: 0) == 40)
        pair.run(for: .seconds(Int64(1)))
        #expect(
            pair.transcript == ["left: DATA 0/0, DATA 0/1, DATA 0/2, DATA 0/3, DATA 0/4", "right: SACK"])
        #expect(pair.received(by: .right).map(\.bytes) == (0..<5).map { numbered($0, count: 8) })
        #expect(pair.received(by: .right).allSatisfy { $0.payloadProtocol == 53 && $0.stream == 0 })
        #expect(pair.told(.left) == [.bufferedAmountDecreased(0)])
        #expect(pair[.left].bufferedAmount(of: 0) == 0)
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
    }

    @Test(arguments: [true, false])
    func `the largest message arrives whole, with and without interleaving`(interleaves: Bool) throws {
        var configuration = SCTPConfiguration()
        configuration.remoteMaximumMessageSize = 262_144
        configuration.offersInterleaving = interleaves
        var pair = SCTPPair.connected(left: configuration)
        let message = numbered(7, count: 262_144)
        try pair.send(message, ordered: false)
        try pair.send(message)
        pair.run(for: .seconds(Int64(10)))
        #expect(pair.received(by: .right).map(\.bytes) == [message, message])
        // Nothing was lost, and nothing taken for lost.
        #expect(pair[.left].statistics.chunksRetransmitted == 0)
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
        #expect(throws: SCTPSendError.messageTooLarge(limit: 262_144)) { try pair.send(message + [0]) }
        #expect(throws: SCTPSendError.messageEmpty) { try pair.send([]) }
    }

    @Test func `no packet is larger than agreed`() throws {
        var configuration = SCTPConfiguration()
        configuration.maximumPacketSize = 1_200
        configuration.remoteMaximumMessageSize = 0
        var pair = SCTPPair.connected(left: configuration, right: configuration)
        let sizes = SCTPSizes()
        pair.passes = { _, packet in sizes.note(packet.count) }
        for size in [1, 1_167, 1_168, 1_169, 5_000, 100_000] {
            try pair.send(numbered(size, count: size))
            try pair.send(numbered(size, count: size), from: .right)
        }
        pair.run(for: .seconds(Int64(10)))
        #expect(sizes.largest == 1_200)
        #expect(pair.received(by: .right).map(\.bytes.count) == [4, 1_167, 1_168, 1_169, 5_000, 100_000])
    }

    @Test func `TSNs wrap, with gaps across the wrap`() throws {
        var conditions = SCTPPair.Conditions()
        conditions.loss = 0.1
        var pair = SCTPPair(seed: 3, conditions: conditions)
        pair[.left].begin(atTSN: 0xffff_fff0)
        pair[.right].begin(atTSN: 0xffff_ffff)
        pair.startBoth()
        for number in 0..<200 {
            try pair.send(numbered(number, count: 900))
            try pair.send(numbered(number, count: 900), from: .right)
        }
        pair.run(for: .seconds(Int64(60)))
        for side in SCTPPair.Side.allCases {
            #expect(pair.received(by: side).map(\.bytes) == (0..<200).map { numbered($0, count: 900) })
        }
    }

    @Test func `a stream's numbers wrap`() throws {
        var configuration = SCTPConfiguration()
        configuration.offersInterleaving = false
        var pair = SCTPPair.connected(left: configuration)
        for number in 0..<66_000 {
            try pair.send(numbered(number, count: 4))
            if number % 4_000 == 0 { pair.run(for: .seconds(Int64(1))) }
        }
        pair.run(for: .seconds(Int64(10)))
        let numbers = pair.received(by: .right).map { message in
            message.bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        #expect(numbers == Array(0..<66_000))
    }

    @Test func `a receiver without room is probed, and goes on when it has room again`() throws {
        var right = SCTPConfiguration()
        right.receiveBuffer = 8_192
        right.localMaximumMessageSize = 4_096
        var pair = SCTPPair.connected(right: right)
        // The first packet is lost again and again: everything behind it has to be held.
        let first = SCTPFirstTSNLoss()
        pair.passes = { side, packet in side == .right || first.passes(packet) }
        for number in 0..<40 { try pair.send(numbered(number, count: 1_000)) }
        pair.run(for: .seconds(Int64(4)))
        #expect(pair[.right].receiveWindow < 1_500)
        #expect(pair.received(by: .right).isEmpty)
        #expect(pair[.right].reassembly.held <= 2 * 8_192)
        pair.passes = { _, _ in true }
        pair.run(for: .seconds(Int64(60)))
        #expect(pair.received(by: .right).map(\.bytes) == (0..<40).map { numbered($0, count: 1_000) })
        #expect(pair[.right].receiveWindow == 8_192)
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
    }

    @Test func `room for a part of the buffer is told at once, though the rest stays unread`() throws {
        var right = SCTPConfiguration()
        right.receiveBuffer = 80_000
        var pair = SCTPPair.connected(right: right)
        pair[.right].setUnread(80_000, at: pair.now)
        for number in 0..<40 { try pair.send(numbered(number, count: 1_000)) }
        pair.run(for: .milliseconds(200))
        let before = pair.received(by: .right).count
        pair.run(for: .milliseconds(100))
        #expect(pair.received(by: .right).count <= before + 2, "there is no room, but for probes (RFC 9260 §6.1)")
        // Less than an eighth is not worth a word.
        pair[.right].setUnread(75_000, at: pair.now)
        pair.run(for: .milliseconds(50))
        #expect(pair.received(by: .right).count <= before + 2)
        pair[.right].setUnread(60_000, at: pair.now)
        pair.run(for: .milliseconds(50))
        #expect(pair.received(by: .right).count > before + 10)
    }

    @Test(arguments: [true, false])
    func `hundreds of streams are not starved by one large message`(interleaves: Bool) throws {
        var configuration = SCTPConfiguration()
        configuration.remoteMaximumMessageSize = 262_144
        configuration.offersInterleaving = interleaves
        var conditions = SCTPPair.Conditions()
        conditions.bytesPerSecond = 1_250_000
        var pair = SCTPPair.connected(conditions: conditions, left: configuration)
        for number in 0..<8 { try pair.send(numbered(number, count: 262_144)) }
        for stream in 1...300 { try pair.send(numbered(stream, count: 100), on: UInt16(stream)) }
        pair.run(until: pair.now + .seconds(Int64(60))) { $0.received(by: .right).count >= 301 }
        let order = pair.received(by: .right).map(\.stream)
        // Without interleaving the first large message comes first, then each stream has its turn.
        #expect(order.prefix(interleaves ? 300 : 301).filter { $0 != 0 }.count == 300)
        #expect(pair.run(until: pair.now + .seconds(Int64(60))) { $0.received(by: .right).count == 308 })
    }

    @Test func `many large messages at once do not fill the receiver with halves`() throws {
        var right = SCTPConfiguration()
        right.receiveBuffer = 300_000
        var left = SCTPConfiguration()
        left.remoteMaximumMessageSize = 262_144
        var pair = SCTPPair.connected(left: left, right: right)
        for stream in 0..<40 { try pair.send(numbered(stream, count: 100_000), on: UInt16(stream)) }
        pair.run(for: .seconds(Int64(60)))
        #expect(Set(pair.received(by: .right).map(\.stream)) == Set(0..<40))
        #expect(pair.received(by: .right).allSatisfy { $0.bytes == numbered(Int($0.stream), count: 100_000) })
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
    }

    @Test func `a peer that begins many large messages at once has room for them`() throws {
        var left = SCTPConfiguration()
        left.remoteMaximumMessageSize = 262_144
        var pair = SCTPPair.connected(left: left)
        // We would hold some of them back (RFC 8260 §3.2 leaves this to the sender).
        pair[.left].queue.maximumBegun = .max
        for stream in 0..<20 { try pair.send(numbered(stream, count: 262_144), on: UInt16(stream)) }
        pair.run(for: .seconds(Int64(60)))
        #expect(Set(pair.received(by: .right).map(\.stream)) == Set(0..<20))
        #expect(pair[.right].state == .established)
        #expect(pair[.left].holdsNothing && pair[.right].holdsNothing)
    }

    @Test func `a clean link of 50 ms is nearly filled`() throws {
        var conditions = SCTPPair.Conditions()
        conditions.bytesPerSecond = 2_500_000
        conditions.queue = 256 << 10
        var left = SCTPConfiguration()
        left.remoteMaximumMessageSize = 262_144
        var pair = SCTPPair.connected(conditions: conditions, left: left)
        let begin = pair.now
        for number in 0..<60 { try pair.send(numbered(number, count: 262_144)) }
        #expect(pair.run(until: begin + .seconds(Int64(60))) { $0.received(by: .right).count == 60 })
        let rate = Double(pair.bytesReceived(by: .right)) / (pair.now - begin).seconds
        // The link's rate is 2.5 MB/s, of which headers take 8 %.
        #expect(rate > 0.8 * 2_500_000)
        #expect(pair[.left].statistics.smoothedRoundTripTime.map { $0 >= .milliseconds(50) } == true)
    }

    @Test func `a window that is not used decays, though what the peer sends meanwhile is acknowledged`() throws {
        var left = SCTPConfiguration()
        left.remoteMaximumMessageSize = 262_144
        var pair = SCTPPair.connected(left: left)
        for number in 0..<4 { try pair.send(numbered(number, count: 262_144)) }
        #expect(pair.run(until: pair.now + .seconds(Int64(10))) { $0.received(by: .right).count == 4 })
        pair.run(for: .milliseconds(300))
        let grown = pair[.left].congestion.window
        // Four packets: no silence makes it smaller.
        let least = pair[.left].congestion.burst
        #expect(grown > 4 * least)
        for number in 0..<100 {
            try pair.send(numbered(number, count: 8), from: .right)
            pair.run(for: .milliseconds(100))
        }
        #expect(pair.received(by: .left).count == 100)
        #expect(pair[.left].congestion.window == grown)
        try pair.send(numbered(4, count: 8))
        pair.run(for: .seconds(Int64(1)))
        #expect(pair[.left].congestion.window == least)
    }

    @Test func `what the send buffer does not hold is refused`() throws {
        var left = SCTPConfiguration()
        left.sendBuffer = 100_000
        var pair = SCTPPair.connected(left: left)
        pair.passes = { _, _ in false }
        var taken = 0
        while taken < 1_000, (try? pair.send(numbered(taken, count: 1_000))) != nil {
            taken += 1
            pair.drain()
        }
        #expect((80...100).contains(taken))
        #expect(throws: SCTPSendError.bufferFull) { try pair.send(numbered(0, count: 4_000)) }
        pair.passes = { _, _ in true }
        pair.run(for: .seconds(Int64(20)))
        #expect(pair.received(by: .right).count == taken)
        try pair.send([1])
    }

    @Test func `what is not acknowledged counts in the send buffer for what it takes, however small it is`() throws {
        var left = SCTPConfiguration()
        left.sendBuffer = 100_000
        var pair = SCTPPair.connected(left: left)
        pair.passes = { _, _ in false }
        var taken = 0
        while taken < 20_000, (try? pair.send([1])) != nil {
            taken += 1
            pair.drain()
        }
        #expect(throws: SCTPSendError.bufferFull) { try pair.send([1]) }
        let kept = pair[.left].flight.chunks.count
        #expect(kept > 500 && kept * 100 <= left.sendBuffer)
        pair.passes = { _, _ in true }
        pair.run(for: .seconds(Int64(20)))
        #expect(pair.received(by: .right).count == taken)
        #expect(pair[.left].holdsNothing)
    }

    @Test func `an idle association asks whether the peer is there, and gives up when it is not`() {
        var pair = SCTPPair.connected()
        pair.run(for: .seconds(Int64(60)))
        #expect(pair.transcript.contains("left: HEARTBEAT") && pair.transcript.contains("right: HEARTBEAT ACK"))
        pair.passes = { _, _ in false }
        pair.run(for: .seconds(Int64(300)))
        #expect(pair.told(.left) == [.closed(.peerUnreachable)])
        #expect(pair[.left].nextWake == nil)
    }

    @Test func `a peer that stops acknowledging is given up`() throws {
        var pair = SCTPPair.connected()
        pair.passes = { side, _ in side == .left }
        try pair.send([1])
        pair.run(for: .seconds(Int64(300)))
        #expect(pair.told(.left).last == .closed(.peerUnreachable))
        #expect(throws: SCTPSendError.closed) { try pair.send([2]) }
    }
}

/// The largest packet that passed.
final class SCTPSizes {
    private(set) var largest = 0

    func note(_ size: Int) -> Bool {
        largest = max(largest, size)
        return true
    }
}

/// Loses each packet that holds the TSN which the first lost packet held, for as long as it is asked.
final class SCTPFirstTSNLoss {
    private var tsn: UInt32?

    func passes(_ packet: [UInt8]) -> Bool {
        guard var reader = SCTPPacketReader(packet.span.bytes) else { return true }
        while let chunk = reader.next() {
            guard chunk.type == SCTPChunkType.interleavedData.rawValue, let header = SCTPDataHeader(chunk) else {
                continue
            }
            if let wanted = tsn {
                if header.tsn == wanted { return false }
            } else {
                tsn = header.tsn
                return false
            }
        }
        return true
    }
}
