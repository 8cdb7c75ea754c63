/// Appends fields of any number of bits, most significant first.
struct BitWriter {
    private(set) var bytes: [UInt8] = []
    /// Bits that are used of the last byte; 0 when it is full.
    private var used = 0

    mutating func write(_ value: UInt32, bits count: Int) {
        for shift in stride(from: count - 1, through: 0, by: -1) {
            if used == 0 { bytes.append(0) }
            bytes[bytes.count - 1] |= UInt8(value >> UInt32(shift) & 1) << UInt8(7 - used)
            used = (used + 1) & 7
        }
    }

    mutating func write(_ flag: Bool) { write(flag ? 1 : 0, bits: 1) }

    /// ns(n) of AV1 (bitstream specification §4.10.7): a value below `limit` in as few bits as that takes.
    mutating func writeNonSymmetric(_ value: UInt32, below limit: UInt32) {
        guard limit > 1 else { return }
        let width = 32 - limit.leadingZeroBitCount
        let short = (UInt32(1) << UInt32(width)) - limit
        if value < short {
            write(value, bits: width - 1)
        } else {
            write(value + short, bits: width)
        }
    }
}
