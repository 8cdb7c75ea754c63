/// The variable-length numbers of AV1 (bitstream specification §4.10.5): seven bits a byte, lowest first.
enum LEB128 {
    /// Bytes that a number takes.
    static func size(_ value: Int) -> Int {
        var size = 1
        var rest = value >> 7
        while rest > 0 {
            size += 1
            rest >>= 7
        }
        return size
    }
}

extension ByteReader {
    /// A number of at most 32 bits; nil when it is cut off or larger (§4.10.5: at most eight bytes).
    mutating func readLEB128() -> Int? {
        var value: UInt64 = 0
        for index in 0..<8 {
            guard let byte = readUInt8() else { return nil }
            value |= UInt64(byte & 0x7f) << (7 * UInt64(index))
            if byte & 0x80 == 0 { return value <= UInt64(UInt32.max) ? Int(value) : nil }
        }
        return nil
    }
}

extension [UInt8] {
    mutating func append(leb128 value: Int) {
        var rest = value
        while rest > 0x7f {
            append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    mutating func insert(leb128 value: Int, at index: Int) {
        var bytes: [UInt8] = []
        bytes.append(leb128: value)
        insert(contentsOf: bytes, at: index)
    }
}
