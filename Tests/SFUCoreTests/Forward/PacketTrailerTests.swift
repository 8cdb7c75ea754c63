import RTCWire
import Testing

@testable import SFUCore

/// What is behind a picture, as LiveKit's clients put it there.
@Suite struct PacketTrailerTests {
    private static let mark: [UInt8] = [0x4c, 0x4b, 0x54, 0x53]

    private static func size(_ head: [UInt8], _ end: [UInt8], _ format: PayloadFormat = .vp8) -> Int {
        PacketTrailer.size(of: (head + end).span.bytes, format)
    }

    /// Of a payload of VP8 without a picture's number.
    private static func size(_ end: [UInt8]) -> Int { size([0x10], end) }

    @Test func `its end says how long it is`() {
        #expect(Self.size([9, 9, 1, 2, 3, 0xf7] + Self.mark) == 8)
        #expect(Self.size([9, 9, 0xfa] + Self.mark) == 5)
        #expect(Self.size([9, 1, 2, 3, 0xf7] + Self.mark) == 8)
    }

    @Test func `what is no trailer is left alone`() {
        // Longer than the payload, shorter than its own end, without a length, of another mark, and nothing.
        #expect(Self.size([9, 1, 2, 3, 0x00] + Self.mark) == 0)
        #expect(Self.size([9, 9, 0xfb] + Self.mark) == 0)
        #expect(Self.size([9, 9, 0xff] + Self.mark) == 0)
        #expect(Self.size([], Self.mark) == 0)
        #expect(Self.size([9, 1, 2, 3, 0xf7, 0x4c, 0x4b, 0x54, 0x54]) == 0)
        #expect(Self.size([], []) == 0)
    }

    @Test(arguments: [
        (PayloadFormat.vp8, [0x90, 0x80, 0x81, 0x23] as [UInt8]), (.vp9, [0xac, 0x81, 0x23, 0x20, 0x05]),
        (.h264, [0x61]), (.h264, [0x7c, 0x41]), (.h265, [0x26, 0x01]), (.h265, [0x62, 0x01, 0x41]), (.av1, [0x10]),
    ])
    func `something of the picture is left, or it stays`(format: PayloadFormat, head: [UInt8]) {
        let trailer = [1, 2, 3, 0xf7] + Self.mark
        #expect(Self.size(head, [7] + trailer, format) == 8)
        #expect(Self.size(head, trailer, format) == 0)
        // One that would reach into what comes before the picture, up to all of the payload.
        for reach in 0..<head.count {
            let size = UInt8(head.count + 8 - reach)
            #expect(Self.size(head, [1, 2, 3, ~size] + Self.mark, format) == 0)
        }
    }

    @Test func `an aggregate that says how long its parts are is left whole`() {
        let trailer = [1, 2, 3, 0xf7] + Self.mark
        #expect(Self.size([0x78], [0, 12, 0x65, 9, 9, 9] + trailer, .h264) == 0)
        #expect(Self.size([0x60, 0x01], [0, 12, 0x26, 1, 9, 9] + trailer, .h265) == 0)
    }
}
