import RTCWire
import Testing

@Suite struct `Redundant sound and telephone events` {
    @Test func `blocks before a packet's own sound (RFC 2198 figure in section 5)`() {
        // DVI4 8 kHz (5) twenty milliseconds earlier with 3 bytes, then LPC (7).
        let payload: [UInt8] = [0x85, 0x02, 0x80, 0x03, 0x07, 1, 2, 3, 4, 5]
        #expect(
            RedundantAudio.blocks(payload) == [
                .init(payloadType: 5, timestampOffset: 160, range: 5..<8),
                .init(payloadType: 7, timestampOffset: 0, range: 8..<10),
            ])
        var written: [UInt8] = []
        RedundantAudio.appendHeader(payloadType: 5, timestampOffset: 160, size: 3, to: &written)
        RedundantAudio.appendHeader(payloadType: 7, to: &written)
        #expect(written == Array(payload.prefix(5)))
    }

    @Test func `the largest offset and length have all their bits`() {
        var written: [UInt8] = []
        RedundantAudio.appendHeader(payloadType: 127, timestampOffset: 0x3fff, size: 0x3ff, to: &written)
        #expect(written == [0xff, 0xff, 0xff, 0xff])
        let payload = written + [0x6f] + [UInt8](repeating: 1, count: 0x3ff)
        #expect(RedundantAudio.blocks(payload).map(\.timestampOffset) == [0x3fff, 0])
        #expect(RedundantAudio.blocks(payload).map(\.range.count) == [0x3ff, 0])
    }

    @Test func `payloads that claim more than they have hold no block`() {
        let broken: [[UInt8]] = [
            [], [0x85], [0x85, 0x02, 0x80], [0x85, 0x02, 0x80, 0x03], [0x85, 0x02, 0x80, 0x03, 0x07, 1, 2],
            [UInt8](repeating: 0x80, count: 400),
        ]
        for payload in broken { #expect(RedundantAudio.blocks(payload).isEmpty, "\(payload)") }
        for payload in broken { #expect(RedundantAudio.contents(of: payload.span.bytes) == nil, "\(payload)") }
    }

    @Test func `what a payload carries is told when its blocks are of one format`() {
        let payload: [UInt8] = [0xef, 0x0f, 0, 2, 0xef, 0x07, 0x80, 1, 0x6f, 1, 2, 3, 4, 5]
        let contents = RedundantAudio.contents(of: payload.span.bytes)
        #expect(contents == .init(payloadType: 111, primaryOffset: 12, earlierBlocks: 2))
        let alone: [UInt8] = [0x6f]
        #expect(
            RedundantAudio.contents(of: alone.span.bytes)
                == .init(payloadType: 111, primaryOffset: 1, earlierBlocks: 0))
        for place in [0, 4, 8] {
            var mixed = payload
            mixed[place] ^= 1
            #expect(RedundantAudio.contents(of: mixed.span.bytes) == nil)
        }
    }

    @Test func `a payload goes on with another payload type in each of its headers, and is otherwise the same`() {
        let payload: [UInt8] = [0xef, 0x0f, 0, 2, 0xef, 0x07, 0x80, 1, 0x6f, 0xef, 2, 3, 4, 5]
        func written(_ payload: [UInt8]) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(addingCapacity: payload.count + 1) {
                $0.append(7)
                RedundantAudio.append(payload.span.bytes, payloadType: 96, to: &$0)
            }
            return bytes
        }
        #expect(written(payload) == [7, 0xe0, 0x0f, 0, 2, 0xe0, 0x07, 0x80, 1, 0x60, 0xef, 2, 3, 4, 5])
        // What does not end is no longer than it was.
        for broken in [[], [0xef], [0xef, 1, 2], [UInt8](repeating: 0xff, count: 400)] as [[UInt8]] {
            #expect(written(broken).count == 1 + broken.count)
        }
    }

    @Test func `a telephone event (RFC 4733 figure 1)`() throws {
        let event = try #require(TelephoneEvent([0x09, 0x8a, 0x06, 0x40]))
        #expect(event == TelephoneEvent(code: 9, isEnd: true, volume: 10, duration: 1_600))
        var written: [UInt8] = []
        event.write(into: &written)
        #expect(written == [0x09, 0x8a, 0x06, 0x40])
        #expect(TelephoneEvent([0x09, 0x8a, 0x06]) == nil)
        #expect(TelephoneEvent([0x09, 0x4a, 0, 1]) == TelephoneEvent(code: 9, volume: 10, duration: 1), "R is ignored")
    }

    @Test func `keys have their numbers (RFC 4733 table 3)`() {
        #expect("0123456789*#ABCD".map { TelephoneEvent.code(ofKey: $0) } == (0..<16).map { UInt8($0) })
        #expect("abcd".map { TelephoneEvent.code(ofKey: $0) } == [12, 13, 14, 15])
        #expect(" E,ßé".map { TelephoneEvent.code(ofKey: $0) } == [nil, nil, nil, nil, nil])
        #expect((0..<18).map { TelephoneEvent.key(ofCode: UInt8($0)) } == Array("0123456789*#ABCD") + [nil, nil])
    }

    @Test func `packets of G711 and Opus tell their length`() {
        let silence = OpusPacket.silence
        #expect(PayloadFormat.pcmu.samples(in: [UInt8](repeating: 1, count: 160).span.bytes) == 160)
        #expect(PayloadFormat.opus.samples(in: silence.span.bytes) == 960)
        #expect(PayloadFormat.vp8.samples(in: silence.span.bytes) == nil)
    }
}
