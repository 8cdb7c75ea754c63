import RTCWire
import Testing

@testable import RTCEngine

/// Setting up an association (RFC 9260 §5).
@Suite struct SCTPHandshakeTests {
    private static let established = SCTPOutput.established(inboundStreams: 65_535, outboundStreams: 65_535)

    @Test func `one side begins: four packets`() {
        var pair = SCTPPair()
        pair[.left].start(at: .zero)
        pair.run(for: .seconds(Int64(2)))
        #expect(
            pair.transcript == ["left: INIT", "right: INIT ACK", "left: COOKIE ECHO", "right: COOKIE ACK"])
        #expect(pair.told(.left) == [Self.established])
        #expect(pair.told(.right) == [Self.established])
    }

    @Test func `both sides begin at once, and become one association`() {
        var pair = SCTPPair()
        pair.startBoth()
        pair.run(for: .seconds(Int64(2)))
        #expect(pair[.left].state == .established)
        #expect(pair[.right].state == .established)
        #expect(pair.told(.left) == [Self.established])
        #expect(pair.told(.right) == [Self.established])
        #expect(pair.transcript.prefix(4) == ["left: INIT", "right: INIT", "left: INIT ACK", "right: INIT ACK"])
        // The tags agree: what one sends the other takes.
        #expect(pair[.left].peer?.tag == pair[.right].handshake.localTag)
        #expect(pair[.right].peer?.tag == pair[.left].handshake.localTag)
    }

    /// As pion/sctp 1.8 does, against RFC 9260 §3.2.1.
    @Test func `a peer that passes over an INIT with a parameter it does not know is reached by its own`() {
        var old = SCTPConfiguration()
        old.offersZeroChecksum = false
        var new = SCTPConfiguration()
        new.offersZeroChecksum = true
        var pair = SCTPPair(left: old, right: new)
        let unknown: [UInt8] = [0x80, 0x01, 0, 8, 0, 0, 0, 1]
        pair.passes = { sender, packet in sender == .left || !packet.contains(unknown) }
        pair.startBoth()
        pair.run(for: .seconds(Int64(2)))
        #expect(pair[.left].state == .established)
        #expect(pair[.right].state == .established)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `however the packets of two handshakes are lost and mixed, both sides agree`(seed: UInt64) throws {
        var conditions = SCTPPair.Conditions()
        conditions.loss = 0.25
        conditions.duplication = 0.2
        conditions.jitter = .milliseconds(300)
        var left = SCTPConfiguration()
        left.maximumInitRetransmissions = 30
        left.maximumRTO = .milliseconds(1_000)
        var pair = SCTPPair(seed: seed, conditions: conditions, left: left, right: left)
        pair[.left].start(at: .zero)
        if seed % 2 == 0 { pair[.right].start(at: .zero) }
        try pair.send([1, 2, 3])
        try pair.send([4, 5], from: .right)
        let isDone = pair.run(until: .zero + .seconds(Int64(100))) {
            !$0.received(by: .left).isEmpty && !$0.received(by: .right).isEmpty
        }
        #expect(isDone)
        for side in SCTPPair.Side.allCases {
            #expect(pair.told(side) == [Self.established, .bufferedAmountDecreased(0)])
        }
        #expect(pair.received(by: .right).map(\.bytes) == [[1, 2, 3]])
        #expect(pair.received(by: .left).map(\.bytes) == [[4, 5]])
    }

    @Test func `a lost COOKIE ECHO is sent again`() {
        var pair = SCTPPair()
        let lost = SCTPLossCounter(.cookieEcho, 1)
        pair.passes = { _, packet in lost.passes(packet) }
        pair[.left].start(at: .zero)
        pair.run(for: .seconds(Int64(3)))
        #expect(lost.lost == 1)
        #expect(pair.transcript.filter { $0 == "left: COOKIE ECHO" }.count == 2)
        #expect(pair[.left].state == .established)
    }

    @Test func `a lost COOKIE ACK makes the cookie come again, which is answered and changes nothing`() {
        var pair = SCTPPair()
        let lost = SCTPLossCounter(.cookieAcknowledgment, 1)
        pair.passes = { _, packet in lost.passes(packet) }
        pair[.left].start(at: .zero)
        pair.run(for: .seconds(Int64(3)))
        #expect(pair.transcript.suffix(2) == ["left: COOKIE ECHO", "right: COOKIE ACK"])
        #expect(pair.told(.right) == [Self.established])
        #expect(pair[.left].state == .established)
    }

    @Test func `a cookie that brings DATA along is answered by COOKIE ACK, and the SACK comes behind it`() {
        var pair = SCTPPair()
        pair.passes = { _, packet in !holds(.cookieEcho, packet) }
        pair[.left].start(at: .zero)
        pair.run(for: .milliseconds(200))
        let tag = pair[.right].handshake.localTag
        let cookie = pair[.left].handshake.cookie
        let header = SCTPText.data(pair[.left].handshake.localInitialTSN, stream: 1, interleaved: true)
        pair.inject(
            SCTPText.packet(tag: tag) { packet in
                packet.appendSCTPChunk(.cookieEcho, value: cookie)
                SCTPText.append(header, [1], to: &packet)
            }, to: .right)
        #expect(pair.transcript.last == "right: COOKIE ACK, SACK")
        #expect(pair.received(by: .right).map(\.bytes) == [[1]])
    }

    @Test func `nobody answers, and the association is given up`() {
        var pair = SCTPPair()
        pair.passes = { _, _ in false }
        pair[.left].start(at: .zero)
        // As long as ICE waits for consent (RFC 7675).
        pair.run(for: .seconds(Int64(30)))
        #expect(pair.told(.left) == [])
        pair.run(for: .seconds(Int64(30)))
        #expect(pair.told(.left) == [.closed(.handshakeTimedOut)])
        #expect(pair.transcript.count == 1 + SCTPConfiguration().maximumInitRetransmissions)
        #expect(pair[.left].nextWake == nil)
    }

    @Test func `a stale cookie is refused, and another is asked for`() {
        var right = SCTPConfiguration()
        right.cookieLifetime = .milliseconds(1_000)
        var pair = SCTPPair(right: right)
        pair[.left].start(at: .zero)
        // The first two COOKIE ECHOs are lost; the third comes when the cookie is older than a second.
        let lost = SCTPLossCounter(.cookieEcho, 2)
        pair.passes = { _, packet in lost.passes(packet) }
        pair.run(for: .seconds(Int64(10)))
        #expect(pair.transcript.contains("right: ERROR"))
        #expect(pair.transcript.filter { $0 == "left: INIT" }.count == 2)
        #expect(pair[.left].state == .established && pair[.right].state == .established)
    }

    @Test func `a cookie that somebody changed, or made, is nothing`() {
        var pair = SCTPPair()
        pair.passes = { _, packet in !holds(.cookieEcho, packet) }
        pair[.left].start(at: .zero)
        pair.run(for: .milliseconds(200))
        let tag = pair[.right].handshake.localTag
        for position in [0, 20, 45, pair[.left].handshake.cookie.count - 1] {
            var cookie = pair[.left].handshake.cookie
            cookie[position] ^= 1
            pair.inject(SCTPText.packet(tag: tag) { $0.appendSCTPChunk(.cookieEcho, value: cookie) }, to: .right)
        }
        pair.inject(SCTPText.packet(tag: tag) { $0.appendSCTPChunk(.cookieEcho) }, to: .right)
        #expect(pair[.right].state == .new)
        let cookie = pair[.left].handshake.cookie
        // Right, but under another tag (§5.1.5 2).
        pair.inject(SCTPText.packet(tag: tag ^ 2) { $0.appendSCTPChunk(.cookieEcho, value: cookie) }, to: .right)
        #expect(pair[.right].state == .new)
        pair.inject(SCTPText.packet(tag: tag) { $0.appendSCTPChunk(.cookieEcho, value: cookie) }, to: .right)
        #expect(pair[.right].state == .established)
    }

    @Test func `a peer that has restarted is taken in again, and everything begins anew`() throws {
        var pair = SCTPPair.connected()
        try pair.send([1], from: .left)
        try pair.send([2], from: .right)
        pair.run(for: .seconds(Int64(1)))
        pair.forget()
        pair[.right] = SCTPAssociation(configuration: .init(), random: .seeded(99))
        pair[.right].start(at: pair.now)
        pair.run(for: .seconds(Int64(2)))
        #expect(pair.told(.left) == [.restarted, Self.established])
        #expect(pair.told(.right) == [Self.established])
        try pair.send([3], from: .left)
        try pair.send([4], from: .right)
        pair.run(for: .seconds(Int64(2)))
        #expect(pair.received(by: .right).map(\.bytes) == [[3]])
        #expect(pair.received(by: .left).map(\.bytes) == [[4]])
    }

    @Test func `an INIT with company, without a tag, streams or window makes no association`() {
        var pair = SCTPPair()
        let good = SCTPConfiguration().initiation(tag: 7, initialTSN: 1)
        pair.inject(
            SCTPText.packet(tag: 0) { packet in
                good.write(.initiation, into: &packet)
                packet.appendSCTPChunk(.cookieAcknowledgment)
            }, to: .right)
        pair.inject(SCTPText.packet(tag: 5) { good.write(.initiation, into: &$0) }, to: .right)
        var bad = good
        bad.initiateTag = 0
        pair.inject(SCTPText.packet(tag: 0) { bad.write(.initiation, into: &$0) }, to: .right)
        #expect(pair.transcript.isEmpty)
        bad = good
        bad.inboundStreams = 0
        pair.inject(SCTPText.packet(tag: 0) { bad.write(.initiation, into: &$0) }, to: .right)
        bad = good
        bad.receiverWindow = 1_499
        pair.inject(SCTPText.packet(tag: 0) { bad.write(.initiation, into: &$0) }, to: .right)
        #expect(pair.transcript == ["right: ABORT", "right: ABORT"])
        pair.inject(SCTPText.packet(tag: 0) { good.write(.initiation, into: &$0) }, to: .right)
        #expect(pair.transcript.last == "right: INIT ACK")
        #expect(pair[.right].state == .new)
    }

    @Test func `what is not known is reported or passed over as its type asks`() throws {
        var pair = SCTPPair()
        var initiation = SCTPConfiguration().initiation(tag: 7, initialTSN: 1)
        initiation.parameters += [
            SCTPParameter(type: 0x8fff, value: [1]), SCTPParameter(type: 0xcfff, value: [2]),
            SCTPParameter(type: 0x4fff, value: [3]), SCTPParameter(type: 0xcffe, value: [4]),
        ]
        var answer: [UInt8] = []
        let packet = SCTPText.packet(tag: 0) { initiation.write(.initiation, into: &$0) }
        pair[.right].receive(packet.span.bytes, at: .zero)
        while let output = pair[.right].pollOutput() { if case .send(let packet) = output { answer = packet } }
        var parameters: [SCTPParameter] = []
        if var reader = SCTPPacketReader(answer.span.bytes), let chunk = reader.next() {
            parameters = SCTPInitiation(chunk)?.parameters ?? []
        }
        let reported = parameters.filter { $0.type == SCTPParameterType.unrecognizedParameter }.map(\.value)
        // The third stops the reading, so that the fourth is not seen (§3.2.1).
        #expect(reported == [[0xcf, 0xff, 0, 5, 2], [0x4f, 0xff, 0, 5, 3]])
    }
}

/// Loses the first packets that hold a chunk of one type.
final class SCTPLossCounter {
    private let type: SCTPChunkType
    private var left: Int
    private(set) var lost = 0

    init(_ type: SCTPChunkType, _ number: Int) {
        self.type = type
        left = number
    }

    func passes(_ packet: [UInt8]) -> Bool {
        guard left > 0, holds(type, packet) else { return true }
        left -= 1
        lost += 1
        return false
    }
}
