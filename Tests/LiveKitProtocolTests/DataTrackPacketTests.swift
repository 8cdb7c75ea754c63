import LiveKitProtocol
import Testing

@Suite struct DataTrackPacketTests {
    /// Of LiveKit's own description of the format: a frame's first packet, with both extensions, and four bytes.
    private static let vector: [UInt8] =
        [
            0x14, 0x00, 0x12, 0x34, 0x00, 0x05, 0x00, 0x02, 0x01, 0x02, 0x03, 0x04,
            // Seven words: two bytes of their number, 10 and 15 of extensions, one of padding.
            0x00, 0x06,
            0x02, 0x08, 0, 0, 0, 0, 0, 0, 0x01, 0x00,
            0x01, 0x0d, 0x07, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
            0x00,
        ] + [0xde, 0xad, 0xbe, 0xef]

    @Test func `a packet is read and written as it lies on the wire`() throws {
        let packet = try #require(DataTrackPacket(parsing: Self.vector))
        #expect(packet.isFrameStart && !packet.isFrameEnd)
        #expect(packet.handle == 0x1234)
        #expect(packet.sequenceNumber == 5)
        #expect(packet.frameNumber == 2)
        #expect(packet.timestamp == 0x0102_0304)
        #expect(packet.userTimestamp == 256)
        #expect(packet.encryption == [7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        #expect(packet.payload == [0xde, 0xad, 0xbe, 0xef])
        #expect(packet.bytes == Self.vector)
        let plain = DataTrackPacket(handle: 9, payload: [1, 2])
        #expect(plain.bytes == [0x18, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2])
        #expect(DataTrackPacket(parsing: plain.bytes) == plain)
    }

    @Test func `a server gives a packet another handle, and looks at nothing else`() {
        var bytes = Self.vector
        #expect(DataTrackPacket.handle(of: bytes) == 0x1234)
        DataTrackPacket.setHandle(0xff01, of: &bytes)
        #expect(bytes[..<2] == Self.vector[..<2] && bytes[2...3] == [0xff, 0x01] && bytes[4...] == Self.vector[4...])
        #expect(DataTrackPacket.handle(of: [UInt8](Self.vector.prefix(11))) == nil)
    }

    @Test func `what is no packet is not taken for one`() {
        for length in 0..<40 {
            #expect(DataTrackPacket(parsing: Array(Self.vector.prefix(length))) == nil, "\(length) bytes of it")
        }
        #expect(DataTrackPacket(parsing: Array(Self.vector.prefix(40)))?.payload.isEmpty == true)
        for (place, byte) in [(0, 0x34), (15, 0xff), (15, 7), (25, 0xf0)] {
            var bytes = Self.vector
            bytes[place] = UInt8(byte)
            #expect(DataTrackPacket(parsing: bytes) == nil, "\(byte) in place of byte \(place)")
        }
        var unnumbered = Self.vector
        DataTrackPacket.setHandle(0, of: &unnumbered)
        #expect(DataTrackPacket(parsing: unnumbered) == nil)
    }

    @Test func `extensions that are not known are passed over`() throws {
        var bytes = Self.vector
        bytes[14] = 77
        let packet = try #require(DataTrackPacket(parsing: bytes))
        #expect(packet.userTimestamp == nil)
        #expect(packet.encryption?.count == 13)
    }
}
