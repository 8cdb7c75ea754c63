import Testing

@testable import SFUCore

/// What is behind a picture, as LiveKit's clients put it there.
@Suite struct PacketTrailerTests {
    private static let mark: [UInt8] = [0x4c, 0x4b, 0x54, 0x53]

    private static func size(of payload: [UInt8]) -> Int { PacketTrailer.size(of: payload.span.bytes) }

    @Test func `its end says how long it is`() {
        #expect(Self.size(of: [9, 9, 1, 2, 3, 0xf7] + Self.mark) == 8)
        #expect(Self.size(of: [9, 9, 0xfa] + Self.mark) == 5)
        #expect(Self.size(of: [1, 2, 3, 0xf7] + Self.mark) == 8)
    }

    @Test func `what is no trailer is left alone`() {
        // Longer than the payload, shorter than its own end, without a length, of another mark, and nothing.
        #expect(Self.size(of: [9, 1, 2, 3, 0x00] + Self.mark) == 0)
        #expect(Self.size(of: [9, 9, 0xfb] + Self.mark) == 0)
        #expect(Self.size(of: [9, 9, 0xff] + Self.mark) == 0)
        #expect(Self.size(of: Self.mark) == 0)
        #expect(Self.size(of: [1, 2, 3, 0xf7, 0x4c, 0x4b, 0x54, 0x54]) == 0)
        #expect(Self.size(of: []) == 0)
    }
}
