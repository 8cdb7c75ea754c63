/// Appending big-endian fields to a packet that is being written. Each in one piece: bytes one by one are as many looks
/// at the array's owner and capacity.
extension Array where Element == UInt8 {
    @inlinable
    public mutating func append(uint16 value: UInt16) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    @inlinable
    public mutating func append(uint24 value: UInt32) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[1...])) }
    }

    @inlinable
    public mutating func append(uint32 value: UInt32) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    @inlinable
    public mutating func append(uint64 value: UInt64) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends a copy of `span`.
    @inlinable
    public mutating func append(contentsOf span: RawSpan) {
        span.withUnsafeBytes { append(contentsOf: $0) }
    }

    /// Appends zeros, the first eight of them in one piece.
    @inlinable
    public mutating func append(zeros count: Int) {
        Swift.withUnsafeBytes(of: UInt64(0)) {
            append(contentsOf: UnsafeRawBufferPointer(rebasing: $0.prefix(Swift.max(count, 0))))
        }
        if count > 8 { append(contentsOf: repeatElement(0, count: count - 8)) }
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
    /// Overwrites as many bytes as `span` has at `offset`, which must already have been written.
    @inlinable
    public mutating func overwrite(at offset: Int, with span: RawSpan) {
        precondition(offset >= 0 && span.byteCount <= count - offset)
        withUnsafeMutableBytes { bytes in
            span.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyMemory(from: $0) }
        }
    }
}
