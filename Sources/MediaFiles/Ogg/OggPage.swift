import RTCWire

/// One page of an Ogg file (RFC 3533 §6), over the file's bytes.
struct OggPage {
    /// The header type flags (RFC 3533 §6).
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let continued = Flags(rawValue: 1)
        static let firstPage = Flags(rawValue: 2)
        static let lastPage = Flags(rawValue: 4)
    }

    var flags: Flags
    var granulePosition: UInt64
    var serial: UInt32
    var sequence: UInt32
    /// Sizes of the segments, 0 to 255 each.
    var lacing: [UInt8]
    /// Where the segments lie in the file.
    var content: Range<Int>

    /// Reads the page at `offset`; nil when none begins there, it is cut off, or its checksum is wrong.
    init?(_ file: RawSpan, at offset: Int) {
        guard offset >= 0, offset + 27 <= file.byteCount, file.uint32(at: offset) == 0x4f67_6753,  // OggS
            file.byte(at: offset + 4) == 0, let flags = file.byte(at: offset + 5),
            let position = file.littleEndian64(at: offset + 6), let serial = file.littleEndian32(at: offset + 14),
            let sequence = file.littleEndian32(at: offset + 18), let checksum = file.littleEndian32(at: offset + 22),
            let count = file.byte(at: offset + 26)
        else { return nil }
        let contentStart = offset + 27 + Int(count)
        guard contentStart <= file.byteCount else { return nil }
        lacing = file.extracting(offset + 27..<contentStart).withUnsafeBytes { [UInt8]($0) }
        let end = contentStart + lacing.reduce(0) { $0 + Int($1) }
        guard end <= file.byteCount else { return nil }
        content = contentStart..<end
        self.flags = Flags(rawValue: flags)
        granulePosition = position
        self.serial = serial
        self.sequence = sequence

        // RFC 3533 §6: computed over the page with the field itself as zero.
        var crc = OggChecksum()
        crc.update(file.extracting(offset..<offset + 22))
        let blank: [UInt8] = [0, 0, 0, 0]
        crc.update(blank.span.bytes)
        crc.update(file.extracting(offset + 26..<end))
        guard crc.value == checksum else { return nil }
    }

    /// What it costs to find out that no page begins at `offset`, in bytes: as many as its header claims.
    static func claimedSize(_ file: RawSpan, at offset: Int) -> Int {
        guard file.byte(at: offset + 4) == 0, let count = file.byte(at: offset + 26) else { return 0 }
        let start = offset + 27
        let end = min(start + Int(count), file.byteCount)
        return (start..<max(start, end)).reduce(27 + Int(count)) { $0 + Int(file.byte(at: $1) ?? 0) }
    }

    /// The offset of the next capture pattern at or after `offset`; nil when there is none.
    static func find(in file: RawSpan, from offset: Int) -> Int? {
        var index = offset
        while index + 27 <= file.byteCount {
            if file.uint32(at: index) == 0x4f67_6753 { return index }
            index += 1
        }
        return nil
    }
}

/// Ogg's CRC: polynomial 0x04c11db7, not reflected, initially zero (RFC 3533 §6).
struct OggChecksum {
    private(set) var value: UInt32 = 0

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index) << 24) { value, _ in value << 1 ^ (value >> 31 == 1 ? 0x04c1_1db7 : 0) }
    }

    mutating func update(_ bytes: RawSpan) {
        for offset in 0..<bytes.byteCount {
            let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            value = value << 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: value >> 24) ^ byte)]
        }
    }
}
