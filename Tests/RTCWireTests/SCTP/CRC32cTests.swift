import RTCWire
import Testing

@Suite struct CRC32cTests {
    private func crc(_ bytes: [UInt8]) -> UInt32 {
        var checksum = CRC32c()
        checksum.update(bytes.span.bytes)
        return checksum.value
    }

    /// RFC 3720 §B.4 gives them as they go over the wire, lowest byte first.
    @Test func `the examples of iSCSI`() {
        #expect(crc([UInt8](repeating: 0, count: 32)) == 0x8a91_36aa)
        #expect(crc([UInt8](repeating: 0xff, count: 32)) == 0x62a8_ab43)
        #expect(crc(Array(0..<32)) == 0x46dd_794e)
        #expect(crc((0..<32).reversed()) == 0x113f_db5c)
        #expect(crc(Array("123456789".utf8)) == 0xe306_9283)
    }

    @Test func `bytes may come in any pieces`() {
        let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 * 7) }
        for split in 0...100 {
            var checksum = CRC32c()
            checksum.update(Array(bytes[..<split]).span.bytes)
            checksum.update(Array(bytes[split...]).span.bytes)
            #expect(checksum.value == crc(bytes))
        }
    }
}
