/// The decoder configuration record of an `avcC` box or a Matroska private field (ISO/IEC 14496-15 §5.3.3.1): the
/// parameter sets, and how long the length fields in the samples are.
public struct AVCConfiguration: Sendable, Hashable {
    /// NAL units with their header byte, without start codes.
    public var sequenceParameterSets: [[UInt8]]
    public var pictureParameterSets: [[UInt8]]
    /// 1, 2 or 4.
    public var lengthSize: Int

    public init(sequenceParameterSets: [[UInt8]], pictureParameterSets: [[UInt8]], lengthSize: Int = 4) {
        self.sequenceParameterSets = sequenceParameterSets
        self.pictureParameterSets = pictureParameterSets
        self.lengthSize = lengthSize
    }

    /// The parameter sets of an Annex B frame; nil when it lacks one of the two kinds.
    public init?(annexB frame: RawSpan) {
        sequenceParameterSets = []
        pictureParameterSets = []
        lengthSize = 4
        var units = AnnexBReader(frame)
        while let range = units.next() {
            guard let header = frame.byte(at: range.lowerBound), range.count <= 0xffff else { continue }
            let unit = frame.extracting(range).withUnsafeBytes { [UInt8]($0) }
            let type = H264NALType(header: header)
            if type == .sequenceParameterSet, sequenceParameterSets.count < 31, !sequenceParameterSets.contains(unit) {
                sequenceParameterSets.append(unit)
            } else if type == .pictureParameterSet, pictureParameterSets.count < 255,
                !pictureParameterSets.contains(unit)
            {
                pictureParameterSets.append(unit)
            }
        }
        guard !sequenceParameterSets.isEmpty, !pictureParameterSets.isEmpty else { return nil }
    }

    /// Reads a record; nil when it is cut off, of another version, or has length fields of three bytes.
    public init?(_ record: RawSpan) {
        var reader = ByteReader(record)
        // configurationVersion, then profile, compatibility and level, which the parameter set repeats.
        guard reader.readUInt8() == 1, reader.skip(3), let lengths = reader.readUInt8(), lengths & 3 != 2,
            let sequenceCount = reader.readUInt8()
        else { return nil }
        lengthSize = Int(lengths & 3) + 1
        guard let sequence = Self.readUnits(&reader, count: Int(sequenceCount & 0x1f)),
            let pictureCount = reader.readUInt8(), let picture = Self.readUnits(&reader, count: Int(pictureCount))
        else { return nil }
        sequenceParameterSets = sequence
        pictureParameterSets = picture
    }

    private static func readUnits(_ reader: inout ByteReader, count: Int) -> [[UInt8]]? {
        var units: [[UInt8]] = []
        for _ in 0..<count {
            guard let length = reader.readUInt16(), let unit = reader.readBytes(Int(length)) else { return nil }
            units.append(unit)
        }
        return units
    }

    /// Appends the record. For the high profiles the chroma fields that ISO/IEC 14496-15 asks for are left out, as
    /// readers take them from the parameter set.
    public func write(into record: inout [UInt8]) {
        let first = sequenceParameterSets.first ?? []
        record.append(1)
        for offset in 1...3 { record.append(first.indices.contains(offset) ? first[offset] : 0) }
        record.append(0xfc | UInt8(truncatingIfNeeded: lengthSize - 1))
        record.append(0xe0 | UInt8(truncatingIfNeeded: min(sequenceParameterSets.count, 31)))
        for unit in sequenceParameterSets.prefix(31) { Self.append(unit, to: &record) }
        record.append(UInt8(truncatingIfNeeded: min(pictureParameterSets.count, 255)))
        for unit in pictureParameterSets.prefix(255) { Self.append(unit, to: &record) }
    }

    private static func append(_ unit: [UInt8], to record: inout [UInt8]) {
        let kept = unit.prefix(0xffff)
        record.append(uint16: UInt16(truncatingIfNeeded: kept.count))
        record.append(contentsOf: kept)
    }

    /// The parameter sets as an Annex B prefix for a key frame.
    public var annexB: [UInt8] {
        (sequenceParameterSets + pictureParameterSets).reduce(into: []) { frame, unit in
            AnnexB.append(unit.span.bytes, to: &frame)
        }
    }
}
