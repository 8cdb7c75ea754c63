/// The decoder configuration record of an `hvcC` box (ISO/IEC 14496-15 §8.3.3.1): the parameter sets, and how long the
/// length fields in the samples are.
public struct HEVCConfiguration: Sendable, Hashable {
    /// NAL units with their header of two bytes, without start codes.
    public var videoParameterSets: [[UInt8]]
    public var sequenceParameterSets: [[UInt8]]
    public var pictureParameterSets: [[UInt8]]
    /// 1, 2 or 4.
    public var lengthSize: Int

    public init(
        videoParameterSets: [[UInt8]], sequenceParameterSets: [[UInt8]], pictureParameterSets: [[UInt8]],
        lengthSize: Int = 4
    ) {
        self.videoParameterSets = videoParameterSets
        self.sequenceParameterSets = sequenceParameterSets
        self.pictureParameterSets = pictureParameterSets
        self.lengthSize = lengthSize
    }

    /// Reads a record; nil when it is cut off, of another version, or has length fields of three bytes. What it holds
    /// besides parameter sets, as SEI, is passed over.
    public init?(_ record: RawSpan) {
        var reader = ByteReader(record)
        // configurationVersion, then what the sequence parameter set repeats: profile, compatibility, constraints,
        // level, segmentation, parallelism, chroma, depths and frame rate.
        guard reader.readUInt8() == 1, reader.skip(20), let lengths = reader.readUInt8(), lengths & 3 != 2,
            let arrays = reader.readUInt8()
        else { return nil }
        self.init(
            videoParameterSets: [], sequenceParameterSets: [], pictureParameterSets: [],
            lengthSize: Int(lengths & 3) + 1)
        for _ in 0..<arrays {
            guard let kind = reader.readUInt8(), let count = reader.readUInt16() else { return nil }
            for _ in 0..<count {
                guard let length = reader.readUInt16(), let unit = reader.readBytes(Int(length)) else { return nil }
                switch H265NALType(rawValue: kind) {
                case .videoParameterSet: videoParameterSets.append(unit)
                case .sequenceParameterSet: sequenceParameterSets.append(unit)
                case .pictureParameterSet: pictureParameterSets.append(unit)
                case _: continue
                }
            }
        }
    }

    /// Appends the record.
    /// - Parameter isComplete: whether all parameter sets are here and none in the samples (`hvc1`), or some may be in
    ///   them (`hev1`).
    /// - Returns: false when the sequence parameter set is missing or is not understood: `record` is then as it was.
    @discardableResult
    public func write(into record: inout [UInt8], isComplete: Bool) -> Bool {
        guard let first = sequenceParameterSets.first, let sequence = H265SequenceParameterSet(first.span.bytes) else {
            return false
        }
        record.append(1)
        record += sequence.profileTierLevel
        record.append(uint16: 0xf000)  // min_spatial_segmentation_idc: not known
        record.append(0xfc)  // parallelismType: likewise
        record.append(0xfc | sequence.chromaFormat)
        record.append(0xf8 | sequence.lumaDepth)
        record.append(0xf8 | sequence.chromaDepth)
        record.append(uint16: 0)  // avgFrameRate: not told
        record.append(
            UInt8(truncatingIfNeeded: sequence.temporalLayers) << 3 | (sequence.isTemporallyNested ? 4 : 0)
                | UInt8(truncatingIfNeeded: lengthSize - 1))
        let arrays: [(H265NALType, [[UInt8]])] = [
            (.videoParameterSet, videoParameterSets), (.sequenceParameterSet, sequenceParameterSets),
            (.pictureParameterSet, pictureParameterSets),
        ].filter { !$0.1.isEmpty }
        record.append(UInt8(truncatingIfNeeded: arrays.count))
        for (type, units) in arrays {
            record.append((isComplete ? 0x80 : 0) | type.rawValue)
            record.append(uint16: UInt16(clamping: units.count))
            for unit in units.prefix(0xffff) {
                let kept = unit.prefix(0xffff)
                record.append(uint16: UInt16(truncatingIfNeeded: kept.count))
                record.append(contentsOf: kept)
            }
        }
        return true
    }

    /// The parameter sets as an Annex B prefix for a key frame.
    public var annexB: [UInt8] {
        (videoParameterSets + sequenceParameterSets + pictureParameterSets).reduce(into: []) { frame, unit in
            AnnexB.append(unit.span.bytes, to: &frame)
        }
    }
}
