/// The CRC-32 of ISO 3309 and ITU-T V.42, which FINGERPRINT uses (RFC 8489 §14.7). Feed bytes in order.
struct CRC32: Sendable {
    private var register: UInt32 = 0xffff_ffff

    mutating func update(_ bytes: RawSpan) {
        for index in 0..<bytes.byteCount {
            let byte = UInt32(bytes.byte(at: index) ?? 0)
            register = Self.table[Int((register ^ byte) & 0xff)] ^ (register >> 8)
        }
    }

    var value: UInt32 { ~register }

    /// The remainders of all single bytes, for the reflected polynomial.
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { remainder, _ in
            remainder & 1 == 1 ? (remainder >> 1) ^ 0xedb8_8320 : remainder >> 1
        }
    }
}
