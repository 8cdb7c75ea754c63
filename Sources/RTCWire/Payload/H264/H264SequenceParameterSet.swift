/// What a receiver or a file needs to know from a sequence parameter set (H.264 §7.3.2.1.1).
public struct H264SequenceParameterSet: Sendable, Hashable {
    public var profile: UInt8
    /// The `constraint_set` flags, most significant first.
    public var constraints: UInt8
    /// Ten times the level: 31 is level 3.1.
    public var level: UInt8
    /// In pixels, after cropping.
    public var width: Int
    public var height: Int

    /// As a session description writes it (RFC 6184 §8.1): six hexadecimal digits.
    public var profileLevelID: String {
        let value = UInt32(profile) << 16 | UInt32(constraints) << 8 | UInt32(level)
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// - Parameter unit: The NAL unit with its header byte.
    /// - Returns: nil when it is no sequence parameter set, is cut off, or states a picture beyond 16,384 pixels.
    public init?(_ unit: RawSpan) {
        guard let header = unit.byte(at: 0), H264NALType(header: header) == .sequenceParameterSet,
            unit.byteCount <= 1_024
        else { return nil }
        var bits = BitReader(unescaping: unit.extracting(1..<unit.byteCount))
        guard let profile = bits.readBits(8), let constraints = bits.readBits(8), let level = bits.readBits(8),
            bits.readUnsigned() != nil  // seq_parameter_set_id
        else { return nil }
        self.profile = UInt8(truncatingIfNeeded: profile)
        self.constraints = UInt8(truncatingIfNeeded: constraints)
        self.level = UInt8(truncatingIfNeeded: level)

        guard let chroma = Self.readChroma(&bits, profile: profile), Self.skipOrder(&bits),
            bits.readUnsigned() != nil,  // max_num_ref_frames
            bits.readBit() != nil,  // gaps_in_frame_num_value_allowed_flag
            let columns = bits.readUnsigned(), let rows = bits.readUnsigned(), columns < 1_024, rows < 1_024,
            let isFrameOnly = bits.readBit()
        else { return nil }
        if isFrameOnly == 0, bits.readBit() == nil { return nil }  // mb_adaptive_frame_field_flag
        // A field-coded picture counts its rows in pairs (§7.4.2.1.1, equation 7-18).
        let rowsPerUnit = isFrameOnly == 1 ? 1 : 2
        guard bits.readBit() != nil, let isCropped = bits.readBit() else { return nil }  // direct_8x8_inference_flag
        width = (columns + 1) * 16
        height = (rows + 1) * 16 * rowsPerUnit
        guard isCropped == 1 else { return }
        guard let left = bits.readUnsigned(), let right = bits.readUnsigned(), let top = bits.readUnsigned(),
            let bottom = bits.readUnsigned()
        else { return nil }
        // Equations 7-19 to 7-22: cropping counts in chroma samples.
        width -= (left + right) * (chroma == .yuv420 || chroma == .yuv422 ? 2 : 1)
        height -= (top + bottom) * (chroma == .yuv420 ? 2 : 1) * rowsPerUnit
        guard width > 0, height > 0 else { return nil }
    }

    private enum Chroma { case monochrome, yuv420, yuv422, yuv444, separatePlanes }

    /// The fields that only the high profiles have.
    private static func readChroma(_ bits: inout BitReader, profile: UInt32) -> Chroma? {
        guard [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) else { return .yuv420 }
        let chroma: Chroma
        switch bits.readUnsigned() {
        case 0: chroma = .monochrome
        case 1: chroma = .yuv420
        case 2: chroma = .yuv422
        case 3:
            guard let isSeparate = bits.readBit() else { return nil }
            chroma = isSeparate == 1 ? .separatePlanes : .yuv444
        default: return nil
        }
        guard bits.readUnsigned() != nil, bits.readUnsigned() != nil,  // bit depths
            bits.readBit() != nil, let hasMatrices = bits.readBit()
        else { return nil }
        guard hasMatrices == 1 else { return chroma }
        for index in 0..<(chroma == .yuv444 || chroma == .separatePlanes ? 12 : 8) {
            guard let isPresent = bits.readBit() else { return nil }
            if isPresent == 1, !skipScalingList(&bits, size: index < 6 ? 16 : 64) { return nil }
        }
        return chroma
    }

    /// §7.3.2.1.1.1.
    private static func skipScalingList(_ bits: inout BitReader, size: Int) -> Bool {
        var last = 8
        for _ in 0..<size {
            guard let delta = bits.readSigned() else { return false }
            let next = (last + delta) & 0xff
            // A zero here ends the list: the rest repeats the last value.
            if next == 0 { return true }
            last = next
        }
        return true
    }

    /// log2_max_frame_num_minus4 and the picture order count's fields.
    private static func skipOrder(_ bits: inout BitReader) -> Bool {
        guard bits.readUnsigned() != nil, let kind = bits.readUnsigned() else { return false }
        switch kind {
        case 0: return bits.readUnsigned() != nil
        case 1:
            guard bits.readBit() != nil, bits.readSigned() != nil, bits.readSigned() != nil,
                let count = bits.readUnsigned(), count < 256
            else { return false }
            return (0..<count).allSatisfy { _ in bits.readSigned() != nil }
        case 2: return true
        default: return false
        }
    }
}
