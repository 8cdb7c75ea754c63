/// Reads the fields of codec headers: bits, most significant first, and the Exp-Golomb numbers of H.264 (§9.1).
struct BitReader {
    private let bytes: [UInt8]
    /// Bits that have been read.
    private(set) var position = 0

    /// - Parameter unit: A NAL unit's content after its header; its emulation prevention bytes are removed
    ///   (H.264 §7.4.1: 00 00 03 stands for 00 00).
    init(unescaping unit: RawSpan) {
        var plain: [UInt8] = []
        plain.reserveCapacity(unit.byteCount)
        var zeros = 0
        for offset in 0..<unit.byteCount {
            let byte = unit.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            plain.append(byte)
        }
        bytes = plain
    }

    /// Of a header without emulation prevention, as VP9 and AV1 have it. The bytes are copied: give no more than
    /// needed.
    init(_ header: RawSpan) {
        bytes = header.withUnsafeBytes { [UInt8]($0) }
    }

    mutating func readBit() -> UInt32? {
        guard position >> 3 < bytes.count else { return nil }
        defer { position += 1 }
        return UInt32(bytes[position >> 3] >> UInt8(7 - position & 7) & 1)
    }

    /// Up to 32 bits.
    mutating func readBits(_ count: Int) -> UInt32? {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let bit = readBit() else { return nil }
            value = value << 1 | bit
        }
        return value
    }

    /// ns(n) of AV1 (bitstream specification §4.10.7): a value below `limit`.
    mutating func readNonSymmetric(below limit: UInt32) -> UInt32? {
        guard limit > 1 else { return limit == 1 ? 0 : nil }
        let width = 32 - limit.leadingZeroBitCount
        let short = (UInt32(1) << UInt32(width)) - limit
        guard let value = readBits(width - 1) else { return nil }
        if value < short { return value }
        guard let extra = readBit() else { return nil }
        return (value << 1) - short + extra
    }

    /// ue(v), refused above 2^31 - 2.
    mutating func readUnsigned() -> Int? {
        var zeros = 0
        while true {
            guard let bit = readBit() else { return nil }
            if bit == 1 { break }
            zeros += 1
            guard zeros <= 30 else { return nil }
        }
        guard let rest = readBits(zeros) else { return nil }
        return (1 << zeros) - 1 + Int(rest)
    }

    /// se(v), H.264 §9.1.1.
    mutating func readSigned() -> Int? {
        guard let code = readUnsigned() else { return nil }
        return code & 1 == 1 ? (code + 1) / 2 : -(code / 2)
    }
}
