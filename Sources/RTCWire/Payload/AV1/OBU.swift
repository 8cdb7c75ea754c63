/// The first one or two bytes of an open bitstream unit (AV1 bitstream specification §5.3.2, §5.3.3).
public struct OBUHeader: Sendable, Hashable {
    /// `obu_type`, four bits.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue & 0x0f }

        public static let sequenceHeader = Kind(rawValue: 1)
        public static let temporalDelimiter = Kind(rawValue: 2)
        public static let frameHeader = Kind(rawValue: 3)
        public static let frame = Kind(rawValue: 6)
        public static let tileList = Kind(rawValue: 8)
        public static let padding = Kind(rawValue: 15)

        /// RTP payload format §5: neither travels in RTP, and a receiver ignores both.
        var isLeftOut: Bool { self == .temporalDelimiter || self == .tileList }
    }

    public var kind: Kind
    /// `obu_has_size_field`: the content's length follows the header.
    public var hasSize: Bool
    /// The extension's byte with `temporal_id` and `spatial_id`; nil without one.
    public var layers: UInt8?

    /// Three bits; 0 without an extension.
    public var temporalLayer: UInt8 { (layers ?? 0) >> 5 }
    /// Two bits; 0 without an extension.
    public var spatialLayer: UInt8 { (layers ?? 0) >> 3 & 0x03 }
    /// 1 or 2.
    public var byteCount: Int { layers == nil ? 1 : 2 }

    /// Nil when it is cut off, or the forbidden bit is set.
    init?(_ reader: inout ByteReader) {
        guard let first = reader.readUInt8(), first & 0x80 == 0 else { return nil }
        kind = Kind(rawValue: first >> 3 & 0x0f)
        hasSize = first & 0x02 != 0
        guard first & 0x04 != 0 else { return }
        guard let second = reader.readUInt8() else { return nil }
        layers = second
    }

    /// Appends the header, with or without the bit that says that a size follows.
    func write(hasSize: Bool, into bytes: inout [UInt8]) {
        bytes.append(kind.rawValue << 3 | (layers == nil ? 0 : 0x04) | (hasSize ? 0x02 : 0))
        if let layers { bytes.append(layers) }
    }
}

/// Walks the units of the low-overhead format (§5.2): each with its size, which only the last one may lack.
struct OBUReader: ~Escapable {
    /// A unit and where its content lies.
    struct Unit {
        var header: OBUHeader
        var content: Range<Int>
    }

    private var reader: ByteReader

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan) { reader = ByteReader(bytes) }

    /// The next unit; nil at the end, and where the bytes are none.
    mutating func next() -> Unit? {
        guard reader.remaining > 0, let header = OBUHeader(&reader) else { return nil }
        var size = reader.remaining
        if header.hasSize {
            guard let told = reader.readLEB128() else { return nil }
            size = told
        }
        let start = reader.offset
        guard reader.skip(size) else { return nil }
        return Unit(header: header, content: start..<reader.offset)
    }
}

extension AV1SequenceHeader {
    /// The sequence header of a temporal unit; nil when it has none that parses.
    public init?(inTemporalUnit bytes: RawSpan) {
        var units = OBUReader(bytes)
        while let unit = units.next() {
            guard unit.header.kind == .sequenceHeader else { continue }
            self.init(bytes.extracting(unit.content))
            return
        }
        return nil
    }
}

/// Questions about a whole temporal unit.
enum AV1TemporalUnit {
    /// Whether a coded video sequence begins here (§7.5): a sequence header, and a key frame that is shown first.
    static func isKeyFrame(_ bytes: RawSpan) -> Bool {
        var units = OBUReader(bytes)
        var isReduced: Bool?
        while let unit = units.next() {
            let first = bytes.byte(at: unit.content.lowerBound).flatMap { unit.content.isEmpty ? nil : $0 }
            switch unit.header.kind {
            case .sequenceHeader:
                // seq_profile has three bits, then still_picture and reduced_still_picture_header.
                isReduced = (first ?? 0) & 0x08 != 0
            case .frame, .frameHeader:
                guard let isReduced, let first else { return false }
                // §5.9.2: show_existing_frame, then frame_type, of which 0 is KEY_FRAME.
                return isReduced || first & 0xe0 == 0
            default: continue
            }
        }
        return false
    }
}
