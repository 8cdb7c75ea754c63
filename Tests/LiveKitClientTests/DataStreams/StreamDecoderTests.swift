import LiveKitProtocol
import Testing

@testable import LiveKitClient

@Suite struct StreamDecoderTests {
    private static let text = Array("a é 世 🎈 \u{10ffff} z".utf8)

    private static func pieces(
        _ chunks: [[UInt8]], totalLength: Int? = nil, isPacked: Bool = false, isText: Bool = false
    ) throws(StreamError) -> [[UInt8]] {
        var decoder = try StreamDecoder(totalLength: totalLength, isPacked: isPacked, isText: isText)
        var pieces: [[UInt8]] = []
        for chunk in chunks {
            decoder.feed(chunk)
            while let piece = try decoder.next() { pieces.append(piece) }
        }
        try decoder.finish()
        return pieces
    }

    @Test func `text that is cut anywhere comes in whole characters`() throws {
        for cut in 0...Self.text.count {
            let chunks = [Array(Self.text[..<cut]), Array(Self.text[cut...])]
            let pieces = try Self.pieces(chunks, isText: true)
            #expect(pieces.allSatisfy { String(validating: $0, as: UTF8.self) != nil })
            #expect(Array(pieces.joined()) == Self.text)
        }
        let bytes = try Self.pieces(Self.text.map { [$0] }, isText: true)
        #expect(Array(bytes.joined()) == Self.text)
    }

    @Test func `packed content is unpacked wherever it is cut`() throws {
        let content = Array(String(repeating: "the same again, ", count: 40_000).utf8)
        let packed = try #require(Deflate.compress(content))
        #expect(packed.count < 4_000)
        for length in [1, 7, 1_000, packed.count] {
            let chunks = stride(from: 0, to: packed.count, by: length).map {
                Array(packed[$0..<min($0 + length, packed.count)])
            }
            let pieces = try Self.pieces(chunks, totalLength: content.count, isPacked: true, isText: true)
            #expect(Array(pieces.joined()) == content)
            // However much a few bytes become, it comes out in pieces.
            #expect(pieces.allSatisfy { $0.count <= 64 << 10 })
        }
    }

    @Test func `what is not what was announced is told`() throws {
        #expect(throws: StreamError.lengthExceeded) { try Self.pieces([[1, 2], [3]], totalLength: 2) }
        #expect(throws: StreamError.incomplete) { try Self.pieces([[1, 2]], totalLength: 3) }
        #expect(try Self.pieces([[1, 2]], totalLength: 2) == [[1, 2]])
        // SDKs say nothing of a length by saying 0.
        #expect(try Self.pieces([[1, 2]], totalLength: 0) == [[1, 2]])
        #expect(try Self.pieces([], totalLength: 0).isEmpty)
        let packed = try #require(Deflate.compress(Array("hello".utf8)))
        // The length is that of the content.
        #expect(try Self.pieces([packed], totalLength: 5, isPacked: true) == [Array("hello".utf8)])
        #expect(throws: StreamError.lengthExceeded) { try Self.pieces([packed], totalLength: 4, isPacked: true) }
        #expect(throws: StreamError.incomplete) { try Self.pieces([packed.dropLast()], isPacked: true) }
        #expect(throws: StreamError.undecodable) { try Self.pieces([packed + [0]], isPacked: true) }
        #expect(throws: StreamError.undecodable) { try Self.pieces([packed, [0]], isPacked: true) }
        #expect(throws: StreamError.undecodable) { try Self.pieces([[0xff, 0xff, 0xff]], isPacked: true) }
    }

    @Test(
        arguments: [[0xff], [0x41, 0x80], [0xc3, 0x41], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]] as [[UInt8]])
    func `what is no UTF-8 is no text`(bytes: [UInt8]) {
        #expect(throws: StreamError.undecodable) { try Self.pieces([bytes], isText: true) }
    }

    @Test func `a text that ends within a character is not complete`() {
        #expect(throws: StreamError.incomplete) { try Self.pieces([[0x61, 0xf0, 0x9f]], isText: true) }
    }

    @Test func `chunks of text end with characters`() {
        let text = Array(String(repeating: "🎈世a", count: 8_000).utf8)
        let chunks = OutgoingStream.chunks(text, isText: true)
        #expect(Array(chunks.joined()) == text)
        #expect(chunks.allSatisfy { $0.count <= 15_000 && String(validating: $0, as: UTF8.self) != nil })
        #expect(chunks.dropLast().allSatisfy { $0.count > 14_990 })
        let bytes = [UInt8](repeating: 0x80, count: 45_000)
        #expect(OutgoingStream.chunks(bytes, isText: false).map(\.count) == [15_000, 15_000, 15_000])
        // What says it is text and is none goes all the same.
        #expect(OutgoingStream.chunks(bytes, isText: true).map(\.count) == [15_000, 15_000, 15_000])
        #expect(OutgoingStream.chunks([], isText: true).isEmpty)
    }
}
