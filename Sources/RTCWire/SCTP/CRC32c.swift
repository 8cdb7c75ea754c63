/// The CRC-32 of Castagnoli, which SCTP calls CRC32c (RFC 9260 Appendix A). Eight bytes a step: each of the eight
/// tables holds the remainders of a byte that stands that many bytes before the end.
public struct CRC32c: Sendable {
    private var register: UInt32 = 0xffff_ffff

    public init() {}

    /// Takes the next bytes in.
    public mutating func update(_ bytes: RawSpan) {
        register = bytes.withUnsafeBytes { input in
            Self.tables.withUnsafeBufferPointer { Self.advance(register, over: input, tables: $0) }
        }
    }

    public var value: UInt32 { ~register }

    /// Every index below is masked to its table or bounded by `count`.
    private static func advance(
        _ start: UInt32, over input: UnsafeRawBufferPointer, tables: UnsafeBufferPointer<UInt32>
    ) -> UInt32 {
        var register = start
        var offset = 0
        while offset + 8 <= input.count {
            let word = UInt64(littleEndian: input.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let mixed = word ^ UInt64(register)
            var next = tables[0x700 | Int(mixed & 0xff)]
            next ^= tables[0x600 | Int(mixed >> 8 & 0xff)]
            next ^= tables[0x500 | Int(mixed >> 16 & 0xff)]
            next ^= tables[0x400 | Int(mixed >> 24 & 0xff)]
            next ^= tables[0x300 | Int(mixed >> 32 & 0xff)]
            next ^= tables[0x200 | Int(mixed >> 40 & 0xff)]
            next ^= tables[0x100 | Int(mixed >> 48 & 0xff)]
            register = next ^ tables[Int(mixed >> 56)]
            offset += 8
        }
        while offset < input.count {
            register = tables[Int((register ^ UInt32(input[offset])) & 0xff)] ^ register >> 8
            offset += 1
        }
        return register
    }

    /// Table k, from k * 256: the remainder of a byte followed by k zero bytes, for the reflected polynomial.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        tables.reserveCapacity(2_048)
        for byte in UInt32(0)..<256 {
            var remainder = byte
            for _ in 0..<8 {
                let carry: UInt32 = remainder & 1 == 1 ? 0x82f6_3b78 : 0
                remainder = remainder >> 1 ^ carry
            }
            tables.append(remainder)
        }
        for index in 256..<2_048 {
            let before = tables[index - 256]
            tables.append(tables[Int(before & 0xff)] ^ before >> 8)
        }
        return tables
    }()
}
