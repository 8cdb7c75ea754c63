/// Arithmetic on media times that come from files and so may be anything.
enum MediaClock {
    /// Times in files end here: 141 days of video ticks. Sums of them stay far from overflow.
    static let limit: Int64 = 1 << 40

    /// `value * numerator / denominator`, rounded down; nil when that is beyond `limit`, or an argument is negative.
    static func scale(_ value: Int64, by numerator: Int64, over denominator: Int64) -> Int64? {
        guard denominator > 0, value >= 0, numerator >= 0 else { return nil }
        let product = UInt64(value).multipliedFullWidth(by: UInt64(numerator))
        // `dividingFullWidth` traps when the quotient does not fit 64 bits.
        guard product.high < UInt64(denominator) else { return nil }
        let quotient = UInt64(denominator).dividingFullWidth(product).quotient
        return quotient < UInt64(limit) ? Int64(quotient) : nil
    }
}

/// Little-endian fields, which IVF and Ogg use.
extension RawSpan {
    func littleEndian16(at offset: Int) -> UInt16? {
        guard offset >= 0, offset + 2 <= byteCount else { return nil }
        return UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    func littleEndian32(at offset: Int) -> UInt32? {
        guard offset >= 0, offset + 4 <= byteCount else { return nil }
        return UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    func littleEndian64(at offset: Int) -> UInt64? {
        guard offset >= 0, offset + 8 <= byteCount else { return nil }
        return UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension [UInt8] {
    mutating func append(littleEndian16 value: UInt16) {
        append(UInt8(truncatingIfNeeded: value))
        append(UInt8(truncatingIfNeeded: value >> 8))
    }

    mutating func append(littleEndian32 value: UInt32) {
        append(littleEndian16: UInt16(truncatingIfNeeded: value))
        append(littleEndian16: UInt16(truncatingIfNeeded: value >> 16))
    }

    mutating func append(littleEndian64 value: UInt64) {
        append(littleEndian32: UInt32(truncatingIfNeeded: value))
        append(littleEndian32: UInt32(truncatingIfNeeded: value >> 32))
    }
}
