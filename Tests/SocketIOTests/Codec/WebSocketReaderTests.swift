import NIOCore
import Testing

@testable import SocketIO

/// The cases of the Autobahn test suite that concern a reader, by its numbers, each with the bytes in one piece, byte
/// by byte, and in pieces of seven.
struct WebSocketReaderTests {
    private typealias Message = WebSocketReader.Message

    private static func frame(
        _ opcode: UInt8, _ payload: [UInt8] = [], isLast: Bool = true, reserved: UInt8 = 0,
        key: [UInt8]? = [0x37, 0xfa, 0x21, 0x3d]
    ) -> [UInt8] {
        var bytes = [(isLast ? 0x80 : 0) | reserved | opcode]
        let mask: UInt8 = key == nil ? 0 : 0x80
        switch payload.count {
        case ..<126: bytes.append(mask | UInt8(payload.count))
        case ..<65_536: bytes += [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        default: bytes += [mask | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - $0 * 8)) }
        }
        guard let key else { return bytes + payload }
        return bytes + key + payload.enumerated().map { $1 ^ key[$0 & 3] }
    }

    private static func frame(_ opcode: UInt8, _ text: String, isLast: Bool = true) -> [UInt8] {
        frame(opcode, Array(text.utf8), isLast: isLast)
    }

    private func read(
        _ bytes: [UInt8], pieces: Int, side: WebSocketReader.Side = .server, limit: Int = 100_000
    ) -> ([Message], WebSocketFault?) {
        var reader = WebSocketReader(side: side, limit: limit)
        var messages: [Message] = []
        var rest = bytes[...]
        do throws(WebSocketFault) {
            while !rest.isEmpty {
                let piece = Array(rest.prefix(pieces))
                rest = rest.dropFirst(pieces)
                try reader.receive(piece.span.bytes) { messages.append($0) }
            }
        } catch {
            return (messages, error)
        }
        return (messages, nil)
    }

    private func expect(
        _ bytes: [UInt8], _ messages: [Message], _ fault: WebSocketFault? = nil,
        side: WebSocketReader.Side = .server, limit: Int = 100_000, location: SourceLocation = #_sourceLocation
    ) {
        for pieces in [bytes.count, 7, 1] {
            let (read, found) = read(bytes, pieces: max(1, pieces), side: side, limit: limit)
            #expect(read == messages && found == fault, "in pieces of \(pieces)", sourceLocation: location)
        }
    }

    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 127, 128, 65_535, 65_536, 99_999])
    func `1, 9: texts and bytes of every length's form`(count: Int) {
        let text = [UInt8](repeating: 0x2a, count: count)
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        expect(Self.frame(1, text) + Self.frame(2, bytes), [.text(text), .binary(bytes)])
        expect(Self.frame(2, bytes, key: nil), [.binary(bytes)], side: .client)
    }

    @Test func `2: pings and pongs, by themselves and between fragments`() {
        let full = [UInt8](repeating: 0xfe, count: 125)
        expect(
            Self.frame(9) + Self.frame(9, full) + Self.frame(10, "unasked"), [.ping([]), .ping(full), .pong])
        expect(
            Self.frame(1, "frag", isLast: false) + Self.frame(9, "?") + Self.frame(0, "ment"),
            [.fragment, .ping(Array("?".utf8)), .text(Array("fragment".utf8))])
        expect(
            Self.frame(9, full + [1]), [], .violation("a control frame of more than 125 bytes"))
        expect(Self.frame(9, "half", isLast: false), [], .violation("a control frame in fragments"))
    }

    @Test(arguments: [0x10, 0x20, 0x40, 0x70] as [UInt8])
    func `3: reserved bits are nobody's`(bits: UInt8) {
        expect(Self.frame(1, "a") + Self.frame(1, [], reserved: bits), [.text([0x61])], .violation("reserved bits"))
    }

    @Test(arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8])
    func `4: unknown frame types`(opcode: UInt8) {
        expect(Self.frame(opcode, "x"), [], .violation("unknown frame type"))
    }

    @Test func `5: fragments`() {
        expect(
            Self.frame(1, "a", isLast: false) + Self.frame(0, "", isLast: false) + Self.frame(0, "b"),
            [.fragment, .fragment, .text(Array("ab".utf8))])
        expect(Self.frame(0, "x"), [], .violation("nothing to continue"))
        expect(
            Self.frame(1, "a", isLast: false) + Self.frame(1, "b"), [.fragment], .violation("a message inside another"))
        expect(
            Self.frame(1, "a") + Self.frame(0, "b"), [.text([0x61])], .violation("nothing to continue"))
    }

    @Test func `5_3: each fragment has a key of its own, wherever it is cut`() {
        let parts = [[1, 2, 3], [4, 5, 6, 7, 8], [9], [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]] as [[UInt8]]
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            let key = (0..<4).map { UInt8(index * 16 + $0 + 1) }
            bytes += Self.frame(index == 0 ? 2 : 0, part, isLast: index == parts.count - 1, key: key)
        }
        expect(bytes, [.fragment, .fragment, .fragment, .binary(Array(1...19))])
    }

    @Test(arguments: [
        "", "κόσμε", "Hello-µ@ßöäüàá-UTF-8!!", "\u{7ff}\u{800}\u{ffff}\u{10ffff}", "12345678é", "1234567é",
    ])
    func `6: valid UTF-8, also cut within a character`(text: String) {
        let bytes = Array(text.utf8)
        expect(Self.frame(1, bytes), [.text(bytes)])
        for cut in bytes.indices {
            expect(
                Self.frame(1, Array(bytes[..<cut]), isLast: false) + Self.frame(0, Array(bytes[cut...])),
                [.fragment, .text(bytes)])
        }
    }

    @Test(
        arguments: [
            [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xc2], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf], [0xe2, 0x82],
            [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xf0, 0x80, 0x80, 0x80], [0xf0, 0x8f, 0xbf, 0xbf],
            [0xf4, 0x90, 0x80, 0x80], [0xf5], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xfe], [0xff], [0xf0, 0x9f, 0x98],
            [0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0xff],
        ] as [[UInt8]])
    func `6: what is not UTF-8 is no text, and is bytes`(bytes: [UInt8]) {
        expect(Self.frame(1, bytes), [], .notUTF8)
        expect(Self.frame(2, bytes), [.binary(bytes)])
    }

    @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] as [UInt16])
    func `7: a close frame with a code, after which nothing is read`(code: UInt16) {
        let payload = WebSocketFraming.closePayload(code, "bye")
        expect(Self.frame(8, payload) + Self.frame(1, "late") + [0xff], [.close(code: code, reason: "bye")])
    }

    @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] as [UInt16])
    func `7: codes that never travel`(code: UInt16) {
        expect(
            Self.frame(8, WebSocketFraming.closePayload(code, "")), [], .violation("a close code that does not exist"))
    }

    @Test func `7: close frames without a code, with half of one, and with a reason that is no text`() {
        expect(Self.frame(8), [.close(code: nil, reason: "")])
        expect(Self.frame(8, [3]), [], .violation("half a close code"))
        expect(Self.frame(8, [3, 0xe8, 0xff]), [], .notUTF8)
        expect(
            Self.frame(8, [3, 0xe8] + [UInt8](repeating: 0x61, count: 124)), [],
            .violation("a control frame of more than 125 bytes"))
    }

    @Test func `the masks are for the server's eyes only`() {
        expect(Self.frame(1, [], key: nil), [], .violation("wrong masking"))
        expect(Self.frame(1, []), [], .violation("wrong masking"), side: .client)
    }

    @Test func `a message beyond the limit is refused by its head, in one frame or in many`() {
        expect(Self.frame(2, [1, 2, 3]), [.binary([1, 2, 3])], limit: 3)
        expect(Array(Self.frame(2, [1, 2, 3, 4]).prefix(2)), [], .tooLarge, limit: 3)
        expect(
            Self.frame(2, [1, 2], isLast: false) + Self.frame(0, [3, 4]), [.fragment], .tooLarge, limit: 3)
        expect([0x82, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255], [], .tooLarge)
        expect([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0], [], .violation("an impossible length"))
    }

    @Test func `what we write is read`() throws {
        for count in [0, 1, 3, 4, 5, 125, 126, 70_000] {
            let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            var buffer = ByteBuffer()
            WebSocketFraming.write(payload[...], opcode: WebSocketOpcode.binary, mask: 0x37fa_213d, into: &buffer)
            expect(Array(buffer.readableBytesView), [.binary(payload)])
            #expect(Array(buffer.readableBytesView) == Self.frame(2, payload))
        }
    }
}
