import RTCWire

/// Boxes being written, one inside the other.
struct MP4BoxWriter {
    private(set) var bytes: [UInt8] = []

    /// A box (ISO/IEC 14496-12 §4.2) whose size is filled in when its content is there.
    mutating func box(_ type: BoxType, _ content: (inout MP4BoxWriter) -> Void) {
        let start = bytes.count
        bytes.append(uint32: 0)
        bytes.append(uint32: type.code)
        content(&self)
        bytes.set(uint32: UInt32(truncatingIfNeeded: bytes.count - start), at: start)
    }

    /// A box with version and flags before its content.
    mutating func fullBox(
        _ type: BoxType, version: UInt8 = 0, flags: UInt32 = 0, _ content: (inout MP4BoxWriter) -> Void = { _ in }
    ) {
        box(type) {
            $0.append(version)
            $0.append(uint24: flags)
            content(&$0)
        }
    }

    mutating func append(_ byte: UInt8) { bytes.append(byte) }
    mutating func append(uint16 value: UInt16) { bytes.append(uint16: value) }
    mutating func append(uint24 value: UInt32) { bytes.append(uint24: value) }
    mutating func append(uint32 value: UInt32) { bytes.append(uint32: value) }
    mutating func append(uint64 value: UInt64) { bytes.append(uint64: value) }
    mutating func append(_ type: BoxType) { bytes.append(uint32: type.code) }
    mutating func append(_ content: [UInt8]) { bytes += content }
    mutating func appendZeros(_ count: Int) { bytes += [UInt8](repeating: 0, count: count) }
    mutating func set(uint32 value: UInt32, at offset: Int) { bytes.set(uint32: value, at: offset) }
}
