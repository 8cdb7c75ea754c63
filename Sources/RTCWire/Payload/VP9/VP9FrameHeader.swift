/// The first fields of a VP9 frame's uncompressed header (VP9 bitstream specification §6.2, §7.2).
public struct VP9FrameHeader: Sendable, Hashable {
    public var isKeyFrame = false
    /// 0 to 3.
    public var profile: UInt8
    /// The frame only says that an earlier one is to be shown again.
    public var showsExistingFrame: Bool
    /// show_frame.
    public var isShown = true
    /// error_resilient_mode: nothing but its references is needed of the frames before it.
    public var isErrorResilient = false
    /// In pixels; nil in frames that have the size of an earlier one, as the lowest layer's usually have.
    public var width: Int?
    public var height: Int?

    /// Not predicted: a key frame, or intra_only.
    var isIntra = false
    /// refresh_frame_flags: of which of the eight frames that decoders keep this one takes the place.
    var refreshed: UInt8 = 0
    /// Which of the eight has the same size, when it is not told.
    var sizeReference: Int?

    /// Where the size of a frame ends, in whole bytes.
    private static let size = 16

    /// Nil when the header is cut off, or is none.
    public init?(_ frame: RawSpan) {
        var bits = BitReader(frame.extracting(0..<min(Self.size, frame.byteCount)))
        self.init(&bits)
    }

    /// Reads on from the frame's first bit to frame_size or frame_size_with_refs, without the render_size in it.
    init?(_ bits: inout BitReader) {
        // frame_marker is 2.
        guard bits.readBits(2) == 2, let low = bits.readBit(), let high = bits.readBit() else { return nil }
        profile = UInt8(high << 1 | low)
        if profile == 3 { guard bits.readBit() == 0 else { return nil } }
        guard let existing = bits.readBit() else { return nil }
        showsExistingFrame = existing == 1
        if showsExistingFrame { return }
        guard let type = bits.readBit(), let shown = bits.readBit(), let resilient = bits.readBit() else { return nil }
        isKeyFrame = type == 0
        isShown = shown == 1
        isErrorResilient = resilient == 1
        isIntra = isKeyFrame || (!isShown && bits.readBit() == 1)
        // reset_frame_context.
        if !isKeyFrame, !isErrorResilient { guard bits.readBits(2) != nil else { return nil } }
        guard isIntra ? readIntraSize(&bits) : readPredictedSize(&bits) else { return nil }
    }

    private mutating func readIntraSize(_ bits: inout BitReader) -> Bool {
        guard bits.readBits(24) == 0x49_8342 else { return false }
        if isKeyFrame || profile > 0 { guard Self.skipColor(&bits, profile: profile) else { return false } }
        refreshed = 0xff
        if !isKeyFrame {
            guard let flags = bits.readBits(8) else { return false }
            refreshed = UInt8(flags)
        }
        return readSize(&bits)
    }

    /// §6.2.5: frame_size_with_refs, after what it refers to.
    private mutating func readPredictedSize(_ bits: inout BitReader) -> Bool {
        guard let flags = bits.readBits(8), let references = bits.readBits(12) else { return false }
        refreshed = UInt8(flags)
        for place in 0..<UInt32(3) {
            guard let isSame = bits.readBit() else { return false }
            guard isSame == 0 else {
                // ref_frame_idx has three bits, and ref_frame_sign_bias one.
                sizeReference = Int(references >> (9 - 4 * place) & 0x07)
                return true
            }
        }
        return readSize(&bits)
    }

    private mutating func readSize(_ bits: inout BitReader) -> Bool {
        guard let horizontal = bits.readBits(16), let vertical = bits.readBits(16) else { return false }
        width = Int(horizontal) + 1
        height = Int(vertical) + 1
        return true
    }

    /// §6.2.2: color_config.
    private static func skipColor(_ bits: inout BitReader, profile: UInt8) -> Bool {
        if profile >= 2, bits.readBit() == nil { return false }
        guard let space = bits.readBits(3) else { return false }
        // CS_RGB has no range; profiles 1 and 3 tell the subsampling.
        let isOdd = profile & 1 == 1
        let rest = space == 7 ? (isOdd ? 1 : 0) : (isOdd ? 4 : 1)
        return bits.readBits(rest) != nil
    }
}
