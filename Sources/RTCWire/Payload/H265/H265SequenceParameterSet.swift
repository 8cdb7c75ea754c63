/// What a file needs to know from a sequence parameter set (H.265 §7.3.2.2).
public struct H265SequenceParameterSet: Sendable, Hashable {
    /// `sps_seq_parameter_set_id`, 0 to 15.
    public var id: Int
    /// The profile, what it is compatible with, its constraints and the level, as §7.3.3 and a decoder configuration
    /// record write them alike: twelve bytes.
    public var profileTierLevel: [UInt8]
    /// `general_profile_idc`: 1 is Main, 2 is Main 10.
    public var profile: UInt8 { profileTierLevel[0] & 0x1f }
    public var temporalLayers: Int
    /// `sps_temporal_id_nesting_flag`: one may go to a higher layer at any of its pictures.
    public var isTemporallyNested: Bool
    /// 0 to 3: monochrome, 4:2:0, 4:2:2, 4:4:4.
    public var chromaFormat: UInt8
    /// Bits beyond eight.
    public var lumaDepth: UInt8
    public var chromaDepth: UInt8
    /// In pixels, after cropping.
    public var width: Int
    public var height: Int

    /// - Parameter unit: The NAL unit with its header of two bytes.
    /// - Returns: nil when it is no sequence parameter set, is cut off, or states a picture beyond 16,384 pixels.
    public init?(_ unit: RawSpan) {
        guard let header = unit.byte(at: 0), H265NALType(header: header) == .sequenceParameterSet,
            unit.byteCount <= 1_024, unit.byteCount > 2
        else { return nil }
        var bits = BitReader(unescaping: unit.extracting(2..<unit.byteCount))
        guard bits.readBits(4) != nil,  // sps_video_parameter_set_id
            let subLayers = bits.readBits(3), subLayers < 7, let nesting = bits.readBit()
        else { return nil }
        temporalLayers = Int(subLayers) + 1
        isTemporallyNested = nesting == 1
        profileTierLevel = []
        for _ in 0..<12 {
            guard let byte = bits.readBits(8) else { return nil }
            profileTierLevel.append(UInt8(truncatingIfNeeded: byte))
        }
        guard Self.skipSubLayers(&bits, count: Int(subLayers)), let id = bits.readUnsigned(), id < 16,
            let chroma = bits.readUnsigned(), chroma <= 3
        else { return nil }
        self.id = id
        chromaFormat = UInt8(chroma)
        var hasSeparatePlanes: UInt32 = 0
        if chroma == 3 {
            guard let flag = bits.readBit() else { return nil }
            hasSeparatePlanes = flag
        }
        guard let columns = bits.readUnsigned(), let rows = bits.readUnsigned(), (1...16_384).contains(columns),
            (1...16_384).contains(rows), let isCropped = bits.readBit()
        else { return nil }
        (width, height) = (columns, rows)
        if isCropped == 1 {
            guard let left = bits.readUnsigned(), let right = bits.readUnsigned(), let top = bits.readUnsigned(),
                let bottom = bits.readUnsigned()
            else { return nil }
            // §7.4.3.2.1: the window counts in chroma samples; separate planes are as monochrome.
            let isSubsampled = hasSeparatePlanes == 0
            width -= (left + right) * (isSubsampled && (chroma == 1 || chroma == 2) ? 2 : 1)
            height -= (top + bottom) * (isSubsampled && chroma == 1 ? 2 : 1)
            guard width > 0, height > 0 else { return nil }
        }
        guard let luma = bits.readUnsigned(), let chromaDepth = bits.readUnsigned(), luma <= 8, chromaDepth <= 8
        else { return nil }
        lumaDepth = UInt8(luma)
        self.chromaDepth = UInt8(chromaDepth)
    }

    /// §7.3.3: of each lower temporal layer a profile (88 bits) and a level (8), where they are there.
    private static func skipSubLayers(_ bits: inout BitReader, count: Int) -> Bool {
        guard count > 0 else { return true }
        var skipped = 0
        for _ in 0..<count {
            guard let profile = bits.readBit(), let level = bits.readBit() else { return false }
            skipped += Int(profile) * 88 + Int(level) * 8
        }
        // Two bits for each that is not there.
        return (0..<(8 - count) * 2 + skipped).allSatisfy { _ in bits.readBit() != nil }
    }
}
