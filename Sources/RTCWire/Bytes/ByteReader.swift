/// Reads big-endian fields from bytes that came off the network. Every read is bounded: past the end it
/// returns nil and leaves the position where it was, so a parser is a chain of `guard let`.
public struct ByteReader: ~Escapable {
    @usableFromInline let bytes: RawSpan
    /// How many bytes have been read.
    public private(set) var offset: Int

    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan) {
        self.bytes = bytes
        self.offset = 0
    }

    /// How many bytes are left.
    public var remaining: Int { bytes.byteCount - offset }

    public mutating func readUInt8() -> UInt8? {
        guard remaining >= 1 else { return nil }
        defer { offset += 1 }
        return bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    public mutating func readUInt16() -> UInt16? {
        guard remaining >= 2 else { return nil }
        defer { offset += 2 }
        return UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    public mutating func readUInt24() -> UInt32? {
        guard remaining >= 3 else { return nil }
        defer { offset += 3 }
        let high = UInt32(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        let middle = UInt32(bytes.unsafeLoad(fromByteOffset: offset + 1, as: UInt8.self))
        let low = UInt32(bytes.unsafeLoad(fromByteOffset: offset + 2, as: UInt8.self))
        return high << 16 | middle << 8 | low
    }

    public mutating func readUInt32() -> UInt32? {
        guard remaining >= 4 else { return nil }
        defer { offset += 4 }
        return UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    public mutating func readUInt64() -> UInt64? {
        guard remaining >= 8 else { return nil }
        defer { offset += 8 }
        return UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The next `count` bytes as a view, without copying.
    @_lifetime(copy self)
    public mutating func readSpan(_ count: Int) -> RawSpan? {
        guard count >= 0, remaining >= count else { return nil }
        defer { offset += count }
        return bytes.extracting(offset..<offset + count)
    }

    /// A copy of the next `count` bytes.
    public mutating func readBytes(_ count: Int) -> [UInt8]? {
        guard count >= 0, remaining >= count else { return nil }
        defer { offset += count }
        return bytes.extracting(offset..<offset + count).withUnsafeBytes { [UInt8]($0) }
    }

    /// Moves past `count` bytes; false, and no move, when there are fewer.
    @discardableResult
    public mutating func skip(_ count: Int) -> Bool {
        guard count >= 0, remaining >= count else { return false }
        offset += count
        return true
    }
}

extension RawSpan {
    /// The byte at `offset`, nil past the end.
    @inlinable
    public func byte(at offset: Int) -> UInt8? {
        guard offset >= 0, offset < byteCount else { return nil }
        return unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The big-endian 16-bit field at `offset`, nil past the end.
    @inlinable
    public func uint16(at offset: Int) -> UInt16? {
        guard offset >= 0, offset + 2 <= byteCount else { return nil }
        return UInt16(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// The big-endian 32-bit field at `offset`, nil past the end.
    @inlinable
    public func uint32(at offset: Int) -> UInt32? {
        guard offset >= 0, offset + 4 <= byteCount else { return nil }
        return UInt32(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// The big-endian 64-bit field at `offset`, nil past the end.
    @inlinable
    public func uint64(at offset: Int) -> UInt64? {
        guard offset >= 0, offset + 8 <= byteCount else { return nil }
        return UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
