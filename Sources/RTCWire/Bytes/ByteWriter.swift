/// Appending big-endian fields to a packet that is being written.
extension Array where Element == UInt8 {
    @inlinable
    public mutating func append(uint16 value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    @inlinable
    public mutating func append(uint24 value: UInt32) {
        append(UInt8(truncatingIfNeeded: value >> 16))
        append(uint16: UInt16(truncatingIfNeeded: value))
    }

    @inlinable
    public mutating func append(uint32 value: UInt32) {
        append(uint16: UInt16(truncatingIfNeeded: value >> 16))
        append(uint16: UInt16(truncatingIfNeeded: value))
    }

    @inlinable
    public mutating func append(uint64 value: UInt64) {
        append(uint32: UInt32(truncatingIfNeeded: value >> 32))
        append(uint32: UInt32(truncatingIfNeeded: value))
    }

    /// Appends a copy of `span`.
    @inlinable
    public mutating func append(contentsOf span: RawSpan) {
        span.withUnsafeBytes { append(contentsOf: $0) }
    }

    /// Overwrites two bytes at `offset`, which must already have been written.
    @inlinable
    public mutating func set(uint16 value: UInt16, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: value >> 8)
        self[offset + 1] = UInt8(truncatingIfNeeded: value)
    }

    /// Overwrites four bytes at `offset`, which must already have been written.
    @inlinable
    public mutating func set(uint32 value: UInt32, at offset: Int) {
        set(uint16: UInt16(truncatingIfNeeded: value >> 16), at: offset)
        set(uint16: UInt16(truncatingIfNeeded: value), at: offset + 2)
    }
}
