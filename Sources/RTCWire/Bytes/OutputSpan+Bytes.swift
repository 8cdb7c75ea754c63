/// Writing a packet in one go: room for the whole of it is made beforehand (`Array.append(addingCapacity:)`), so that
/// no field looks for it again. Integers are big-endian. What does not fit stops the program: how much room it takes is
/// for whoever makes it to know.
extension OutputSpan where Element == UInt8 {
    @inlinable
    public mutating func append(uint16 value: UInt16) { store(value.bigEndian) }

    @inlinable
    public mutating func append(uint24 value: UInt32) {
        append(UInt8(truncatingIfNeeded: value >> 16))
        append(uint16: UInt16(truncatingIfNeeded: value))
    }

    @inlinable
    public mutating func append(uint32 value: UInt32) { store(value.bigEndian) }

    @inlinable
    public mutating func append(uint64 value: UInt64) { store(value.bigEndian) }

    /// Appends a copy of `span`.
    @inlinable
    public mutating func append(contentsOf span: RawSpan) {
        precondition(span.byteCount <= freeCapacity)
        withUnsafeMutableBufferPointer { bytes, count in
            let rest = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: bytes[count...]))
            span.withUnsafeBytes { rest.copyMemory(from: $0) }
            count += span.byteCount
        }
    }

    @inlinable
    public mutating func append(zeros count: Int) { append(repeating: 0, count: count) }

    /// Overwrites two bytes at `offset`, which must already have been written.
    @inlinable
    public mutating func set(uint16 value: UInt16, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: value >> 8)
        self[offset + 1] = UInt8(truncatingIfNeeded: value)
    }

    @inlinable
    mutating func store(_ value: some FixedWidthInteger & BitwiseCopyable) {
        precondition(MemoryLayout.size(ofValue: value) <= freeCapacity)
        withUnsafeMutableBufferPointer { bytes, count in
            UnsafeMutableRawBufferPointer(bytes).storeBytes(of: value, toByteOffset: count, as: type(of: value))
            count += MemoryLayout.size(ofValue: value)
        }
    }
}
