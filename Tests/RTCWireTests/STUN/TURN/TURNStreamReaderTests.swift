import Testing

@testable import RTCWire

/// RFC 8656 §12.4 and §12.5: channel data, and messages on a stream.
@Suite struct TURNStreamReaderTests {
    private static let binding = STUNMessage(.request, transactionID: .init(high: 1, low: 2)).encoded()

    private static func channelData(_ number: UInt16, _ data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        let header = ChannelDataHeader(number: number, length: UInt16(data.count))
        bytes.append(uint32: header.word)
        bytes += data
        return bytes + [UInt8](repeating: 0, count: header.paddedSize - bytes.count)
    }

    @Test(arguments: [(0, 4), (1, 8), (3, 8), (4, 8), (5, 12), (65_535, 65_540)])
    func `on a stream data is padded to a multiple of four`(length: UInt16, size: Int) {
        #expect(ChannelDataHeader(number: 0x4000, length: length).paddedSize == size)
    }

    @Test func `only numbers of §12 are channels`() {
        for (first, isChannel) in [(0x3f, false), (0x40, true), (0x7f, true), (0x80, false)] as [(UInt8, Bool)] {
            let bytes: [UInt8] = [first, 0xff, 0, 1, 9]
            let header = ChannelDataHeader(bytes.span.bytes)
            #expect((header != nil) == isChannel)
        }
    }

    @Test(arguments: [1, 2, 3, 5, 7, 19, 1_000])
    func `messages come out whole, however the stream was cut`(piece: Int) throws {
        let messages = [Self.binding, [0x40, 1, 0, 5, 1, 2, 3, 4, 5], Self.binding, [0x4f, 0xff, 0, 0]]
        let stream =
            Self.binding + Self.channelData(0x4001, [1, 2, 3, 4, 5]) + Self.binding + Self.channelData(0x4fff, [])
        var reader = TURNStreamReader()
        var found: [[UInt8]] = []
        var message: [UInt8] = []
        for start in stride(from: 0, to: stream.count, by: piece) {
            reader.append(Array(stream[start..<min(start + piece, stream.count)]))
            while try reader.next(into: &message) { found.append(message) }
        }
        #expect(found == messages)
    }

    @Test(arguments: [1, 3, 7, 100, 1_000, 100_000])
    func `what is beyond the limit is passed over, not held, and what follows comes out`(piece: Int) throws {
        let large = [65_535, 197, 2_000].map { Self.channelData(0x4000, [UInt8](repeating: 0x80, count: $0)) }
        let indications = [200, 65_000].map {
            STUNMessage(
                .indication, .send, transactionID: .init(high: 1, low: 2),
                attributes: [.turn(.data([UInt8](repeating: 0x80, count: $0)))]
            ).encoded(signedWith: nil, fingerprint: false)
        }
        let fits = Self.channelData(0x4001, [UInt8](repeating: 7, count: 196))
        let stream =
            large[0] + Self.binding + large[1] + indications[0] + large[2] + fits + indications[1] + Self.binding
        var reader = TURNStreamReader(limit: 200)
        var found: [[UInt8]] = []
        var message: [UInt8] = []
        for start in stride(from: 0, to: stream.count, by: piece) {
            reader.append(Array(stream[start..<min(start + piece, stream.count)]))
            while try reader.next(into: &message) { found.append(message) }
        }
        #expect(found == [Self.binding, fits, Self.binding])
        #expect(reader.skipped == 5)
    }

    @Test func `only what has the cookie is passed over as a message of STUN`() throws {
        var reader = TURNStreamReader(limit: 200)
        var message: [UInt8] = []
        for piece in ["0001", "0100", "2112a4"] {
            reader.append(hexBytes(piece))
            let isThere = try reader.next(into: &message)
            #expect(!isThere)
        }
        reader.append(hexBytes("43"))
        #expect(throws: TURNStreamReader.Failure.outOfStep) { try reader.next(into: &message) }
        #expect(reader.skipped == 0)
    }

    @Test(arguments: ["80000000", "80000000", "00010001 2112a442", "00010000 2112a443 00"])
    func `what is neither ends the stream`(text: String) {
        var reader = TURNStreamReader()
        var message: [UInt8] = []
        reader.append(hexBytes(text))
        #expect(throws: TURNStreamReader.Failure.outOfStep) { try reader.next(into: &message) }
    }
}
