import RTCWire
import Testing

@testable import RTCEngine

/// Resets with peers that read RFC 6525 each in their own way.
@Suite struct SCTPResetPeersTests {
    // MARK: We ask

    @Test func `a reset is asked for when all that was sent has come, so that nobody says "in progress"`() throws {
        var pair = SCTPPair.connected()
        let tape = SCTPResetTape()
        let lost = SCTPDataLoss(1)
        pair.passes = { side, packet in
            tape.note(packet, from: side)
            return lost.passes(packet)
        }
        for number in 0..<4 {
            try pair.send(numbered(number, count: 900), on: 4)
            pair.drain()
        }
        pair[.left].resetStreams([4], at: pair.now)
        pair.run(for: .seconds(Int64(3)))
        #expect(tape.results == [SCTPReconfigurationResult.performed])
        #expect(tape.requests.count == 1)
        #expect(pair.received(by: .right).count == 4)
        #expect(pair.told(.left).contains(.outgoingStreamsReset([4])))
        #expect(pair.told(.right) == [.incomingStreamsReset([4])])
    }

    @Test func `other streams may go on, and do not hold a reset up`() throws {
        var pair = SCTPPair.connected()
        let tape = SCTPResetTape()
        pair.passes = { side, packet in
            tape.note(packet, from: side)
            return true
        }
        try pair.send([1], on: 4)
        pair.drain()
        pair[.left].resetStreams([4], at: pair.now)
        for round in 0..<200 {
            try pair.send(numbered(round, count: 1_000), on: 6)
            pair.run(for: .milliseconds(5))
        }
        #expect(tape.results == [SCTPReconfigurationResult.performed])
    }

    /// dcsctp repeats its stored answer for a number that comes again; usrsctp and Pion answer the first number later.
    @Test(arguments: [0, 1] as [UInt32])
    func `after "in progress" the same is asked under the next number, and the answer to either counts`(
        answered: UInt32
    ) throws {
        var pair = SCTPPair.connected()
        let tape = SCTPResetTape()
        pair.passes = { side, packet in
            tape.note(packet, from: side)
            return side == .left || !holds(.reconfiguration, packet)
        }
        pair[.left].resetStreams([7, 8], at: pair.now)
        pair.drain()
        let first = try #require(tape.requests.first)
        pair.inject(answer(to: first.number, SCTPReconfigurationResult.inProgress, for: pair[.left]), to: .left)
        pair.run(for: .milliseconds(600))
        let second = try #require(tape.requests.last)
        #expect(second.number == first.number &+ 1)
        #expect(second.streams == [7, 8] && second.lastTSN == first.lastTSN)
        #expect(pair.told(.left).isEmpty)
        pair.inject(
            answer(to: first.number &+ answered, SCTPReconfigurationResult.performed, for: pair[.left]), to: .left)
        #expect(pair.told(.left) == [.outgoingStreamsReset([7, 8])])
        #expect(pair[.left].outgoingResets.isIdle)
        // The next one has a number of its own.
        pair[.left].resetStreams([9], at: pair.now)
        pair.drain()
        #expect(tape.requests.last?.number == first.number &+ 2)
    }

    @Test func `a peer that says "in progress" for long is asked again and again, and not given up`() throws {
        var pair = SCTPPair.connected()
        let tape = SCTPResetTape()
        pair.passes = { side, packet in
            tape.note(packet, from: side)
            return side == .left || !holds(.reconfiguration, packet)
        }
        pair[.left].resetStreams([7], at: pair.now)
        pair.drain()
        for _ in 0..<30 {
            let asked = try #require(tape.requests.last)
            pair.inject(answer(to: asked.number, SCTPReconfigurationResult.inProgress, for: pair[.left]), to: .left)
            pair.run(for: .milliseconds(600))
        }
        #expect(Set(tape.requests.map(\.number)).count == 31)
        #expect(pair[.left].state == .established)
        let asked = try #require(tape.requests.last)
        pair.inject(answer(to: asked.number, SCTPReconfigurationResult.performed, for: pair[.left]), to: .left)
        #expect(pair.told(.left) == [.outgoingStreamsReset([7])])
    }

    @Test func `what a peer denies is told as not done, and the stream goes on`() throws {
        var pair = SCTPPair.connected()
        let tape = SCTPResetTape()
        pair.passes = { side, packet in
            tape.note(packet, from: side)
            return side == .left || !holds(.reconfiguration, packet)
        }
        pair[.left].resetStreams([7], at: pair.now)
        pair.drain()
        let asked = try #require(tape.requests.last)
        pair.inject(answer(to: asked.number, SCTPReconfigurationResult.denied, for: pair[.left]), to: .left)
        #expect(pair.told(.left) == [.outgoingStreamsNotReset([7])])
        #expect(pair[.left].outgoingResets.isIdle)
        try pair.send([1], on: 7)
        pair.run(for: .seconds(Int64(1)))
        #expect(pair.received(by: .right).map(\.bytes) == [[1]])
    }

    // MARK: We are asked

    @Test func `a request that waits may be asked anew under the next number, as dcsctp does`() {
        var peer = SCTPAskingPeer()
        peer.ask(0, streams: [3], afterMore: 2)
        peer.ask(1, streams: [3], afterMore: 2)
        #expect(peer.answers == ["+0: 6", "+1: 6"])
        peer.sendsData()
        #expect(peer.told.isEmpty)
        peer.sendsData()
        #expect(peer.answers == ["+0: 6", "+1: 6", "+1: 1"])
        peer.ask(1, streams: [3], afterMore: 2)
        #expect(peer.answers.last == "+1: 1")
        #expect(peer.told == [.incomingStreamsReset([3])])
    }

    @Test func `asked anew when it has been granted meanwhile, a reset is not told twice`() {
        var peer = SCTPAskingPeer()
        peer.ask(0, streams: [3], afterMore: 1)
        peer.sendsData()
        #expect(peer.answers == ["+0: 6", "+0: 1"])
        peer.ask(1, streams: [3], afterMore: 1)
        peer.ask(1, streams: [3], afterMore: 1)
        #expect(peer.answers == ["+0: 6", "+0: 1", "+1: 1", "+1: 1"])
        #expect(peer.told == [.incomingStreamsReset([3])])
        // What is asked then is another matter.
        peer.ask(2, streams: [3], afterMore: 1)
        #expect(peer.told == [.incomingStreamsReset([3]), .incomingStreamsReset([3])])
    }

    @Test func `several requests under way are granted each in its turn, as Pion sends them`() {
        var peer = SCTPAskingPeer()
        // The second overtakes the first. "Bad sequence number" would end it.
        peer.ask(1, streams: [5], afterMore: 2)
        #expect(peer.answers.isEmpty)
        peer.ask(0, streams: [3], afterMore: 1)
        peer.ask(1, streams: [5], afterMore: 2)
        #expect(peer.answers == ["+0: 6", "+1: 6"])
        peer.sendsData()
        #expect(peer.answers.last == "+0: 1")
        peer.sendsData()
        #expect(peer.answers.last == "+1: 1")
        // An answer that was lost is given again, of the earlier one too.
        peer.ask(0, streams: [3], afterMore: 1)
        #expect(peer.answers.last == "+0: 1")
        #expect(peer.told == [.incomingStreamsReset([3]), .incomingStreamsReset([5])])
        // Far from what is next, a number is wrong.
        peer.ask(5_000, streams: [3], afterMore: 1)
        #expect(peer.answers.last == "+5000: 5")
    }

    @Test func `requests without end that can never be granted are not kept`() {
        var peer = SCTPAskingPeer()
        for number in UInt32(0)..<100 { peer.ask(number, streams: [UInt16(number)], afterMore: 1_000 + number) }
        #expect(peer.answers.count == 16)
        #expect(peer.told.isEmpty)
    }

    @Test func `a request that names no stream is told as one for all, once in a packet`() {
        var peer = SCTPAskingPeer()
        // Of unordered messages nothing is kept, of this one a half.
        peer.sendsData()
        peer.sendsHalf(1_000, of: 0, on: 3)
        peer.asksForAll(times: 3)
        #expect(peer.answers == ["+0: 1"])
        #expect(peer.told == [.incomingStreamsReset([])])
        #expect(peer.pair[.right].reassembly.held == 0)
        peer.ask(1, streams: [], afterMore: 2)
        #expect(peer.answers == ["+0: 1", "+1: 1"])
    }

    @Test func `room that a reset frees is told at once`() {
        var configuration = SCTPConfiguration()
        configuration.receiveBuffer = 8_192
        configuration.localMaximumMessageSize = 8_192
        var peer = SCTPAskingPeer(configuration)
        for number in UInt32(0)..<5 { peer.sendsHalf(1_000, of: number, on: 3) }
        peer.pair.run(for: .seconds(Int64(1)))
        let before = peer.pair.transcript.count
        peer.ask(0, streams: [3], afterMore: 0)
        #expect(peer.pair.transcript.dropFirst(before).first == "right: SACK, RE-CONFIG")
    }

    private func answer(to number: UInt32, _ result: UInt32, for association: SCTPAssociation) -> [UInt8] {
        SCTPText.packet(tag: association.handshake.localTag) { packet in
            let start = packet.beginSCTPChunk(.reconfiguration)
            SCTPReconfiguration.response(request: number, result: result).write(into: &packet)
            packet.endSCTPChunk(start)
        }
    }
}

/// What is asked and answered about resets.
final class SCTPResetTape {
    private(set) var requests: [(number: UInt32, lastTSN: UInt32, streams: [UInt16])] = []
    private(set) var answers: [(number: UInt32, result: UInt32)] = []
    var results: [UInt32] { answers.map(\.result) }

    func note(_ packet: [UInt8], from side: SCTPPair.Side) {
        guard var reader = SCTPPacketReader(packet.span.bytes) else { return }
        while let chunk = reader.next() {
            guard chunk.type == SCTPChunkType.reconfiguration.rawValue else { continue }
            for parameter in SCTPReconfiguration.read(chunk) {
                switch parameter {
                case .outgoingReset(let request, _, let lastTSN, let streams):
                    requests.append((request, lastTSN, streams))
                case .response(let request, let result): answers.append((request, result))
                case .incomingReset, .otherRequest: break
                }
            }
        }
    }
}

/// A peer of the right side that is written by hand: the left one says nothing.
struct SCTPAskingPeer {
    var pair: SCTPPair
    private let tape = SCTPResetTape()
    private let tag: UInt32
    private let firstNumber: UInt32
    private let cumulative: UInt32
    private var nextTSN: UInt32

    init(_ configuration: SCTPConfiguration = SCTPConfiguration()) {
        pair = SCTPPair.connected(right: configuration)
        tag = pair[.right].handshake.localTag
        firstNumber = pair[.right].incomingResets.lastNumber &+ 1
        cumulative = pair[.right].received.cumulative
        nextTSN = cumulative &+ 1
        pair.passes = { [tape] side, packet in
            tape.note(packet, from: side)
            return false
        }
    }

    /// As `+1: 6`: to the second number, "in progress".
    var answers: [String] { tape.answers.map { "+\($0.number &- firstNumber): \($0.result)" } }
    var told: [SCTPOutput] { pair.told(.right) }

    /// Asks under a number counted from the first, for after so many more chunks.
    mutating func ask(_ number: UInt32, streams: [UInt16], afterMore count: UInt32) {
        let request = SCTPReconfiguration.outgoingReset(
            request: firstNumber &+ number, response: 0,
            lastTSN: count == 0 ? nextTSN &- 1 : cumulative &+ count, streams: streams)
        pair.inject(SCTPText.packet(tag: tag) { SCTPText.append(request, to: &$0) }, to: .right)
    }

    /// Asks in one packet to reset all streams, under so many numbers from the first.
    mutating func asksForAll(times: UInt32) {
        let packet = SCTPText.packet(tag: tag) { packet in
            for number in 0..<times {
                let request = SCTPReconfiguration.outgoingReset(
                    request: firstNumber &+ number, response: 0, lastTSN: nextTSN &- 1, streams: [])
                SCTPText.append(request, to: &packet)
            }
        }
        pair.inject(packet, to: .right)
    }

    /// One chunk that is a message.
    mutating func sendsData() {
        send(SCTPText.data(nextTSN, stream: 100, unordered: true, interleaved: true), [1])
    }

    /// The first fragment of a message whose end does not come.
    mutating func sendsHalf(_ count: Int, of message: UInt32, on stream: UInt16) {
        send(
            SCTPText.data(nextTSN, stream: stream, message: message, last: false, interleaved: true),
            [UInt8](repeating: 1, count: count))
    }

    private mutating func send(_ header: SCTPDataHeader, _ payload: [UInt8]) {
        nextTSN &+= 1
        pair.inject(SCTPText.packet(tag: tag) { SCTPText.append(header, payload, to: &$0) }, to: .right)
    }
}
