/// Walks the NAL units of a byte stream (H.264 annex B) without copying. Start codes of three and of four bytes
/// are understood; what precedes the first one is skipped, and so are zero bytes after a unit.
public struct AnnexBReader: ~Escapable {
    private let bytes: RawSpan
    /// Just behind the start code of the unit that `next` returns; nil when there is none.
    private var start: Int?
    private let keepsEnd: Bool

    /// - Parameter keepsEnd: the last unit ends with the bytes, in zeros too: those of one that is encrypted are part
    ///   of it.
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan, keepsEnd: Bool = false) {
        self.bytes = bytes
        self.keepsEnd = keepsEnd
        self.start = Self.startCode(in: bytes, from: 0).map { $0 + 3 }
    }

    /// Where the next unit that is not empty lies, header byte included and start code excluded; nil at the end.
    public mutating func next() -> Range<Int>? {
        while let begin = start {
            let code = Self.startCode(in: bytes, from: begin)
            start = code.map { $0 + 3 }
            var end = code ?? bytes.byteCount
            // Annex B §B.1.1: trailing_zero_8bits, and the zero_byte of a four-byte start code. A unit itself
            // never ends in a zero byte (§7.4.1).
            if code != nil || !keepsEnd {
                while end > begin, bytes.byte(at: end - 1) == 0 { end -= 1 }
            }
            if end > begin { return begin..<end }
        }
        return nil
    }

    /// The offset of the next 00 00 01, looking at every third byte only where that is enough.
    private static func startCode(in bytes: RawSpan, from offset: Int) -> Int? {
        var index = offset + 2
        while index < bytes.byteCount {
            switch bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self) {
            case 0: index += 1
            case 1:
                if bytes.byte(at: index - 1) == 0, bytes.byte(at: index - 2) == 0 { return index - 2 }
                index += 3
            default: index += 3
            }
        }
        return nil
    }
}

/// Conversions between the two ways of framing NAL units: start codes (Annex B, what this stack calls a frame) and
/// length fields (AVCC, ISO/IEC 14496-15 §5.3.3, what an MP4 or Matroska file holds).
public enum AnnexB {
    /// What stands before each unit that we write.
    public static let startCode: [UInt8] = [0, 0, 0, 1]

    /// Appends one unit with its start code.
    public static func append(_ unit: RawSpan, to frame: inout [UInt8]) {
        frame.append(uint32: 1)
        frame.append(contentsOf: unit)
    }

    /// Appends the units of an AVCC sample to an Annex B frame.
    /// - Parameter lengthSize: Bytes of each length field, 1 to 4.
    /// - Returns: false when a length points outside the sample; `frame` is then as it was.
    public static func append(avcc sample: RawSpan, lengthSize: Int, to frame: inout [UInt8]) -> Bool {
        guard (1...4).contains(lengthSize) else { return false }
        let before = frame.count
        var reader = ByteReader(sample)
        while reader.remaining > 0 {
            var length = 0
            for _ in 0..<lengthSize {
                guard let byte = reader.readUInt8() else { return undo() }
                length = length << 8 | Int(byte)
            }
            guard let unit = reader.readSpan(length) else { return undo() }
            if length > 0 { append(unit, to: &frame) }
        }
        return true

        func undo() -> Bool {
            frame.removeSubrange(before...)
            return false
        }
    }

    /// Appends the units of an Annex B frame to an AVCC sample with length fields of four bytes.
    public static func appendAVCC(_ frame: RawSpan, to sample: inout [UInt8]) {
        var units = AnnexBReader(frame)
        while let range = units.next() {
            guard let length = UInt32(exactly: range.count) else { continue }
            sample.append(uint32: length)
            sample.append(contentsOf: frame.extracting(range))
        }
    }
}
