/// The first fields of a VP9 frame's uncompressed header (VP9 bitstream specification §6.2, §7.2).
public struct VP9FrameHeader: Sendable, Hashable {
    public var isKeyFrame: Bool
    /// 0 to 3.
    public var profile: UInt8
    /// The frame only says that an earlier one is to be shown again.
    public var showsExistingFrame: Bool
    /// In pixels; nil in frames that are not key frames.
    public var width: Int?
    public var height: Int?

    /// Where the size of a key frame ends, in whole bytes.
    private static let size = 16

    /// Nil when the header is cut off, or is none.
    public init?(_ frame: RawSpan) {
        var bits = BitReader(frame.extracting(0..<min(Self.size, frame.byteCount)))
        // frame_marker is 2.
        guard bits.readBits(2) == 2, let low = bits.readBit(), let high = bits.readBit() else { return nil }
        profile = UInt8(high << 1 | low)
        if profile == 3 { guard bits.readBit() == 0 else { return nil } }
        guard let existing = bits.readBit() else { return nil }
        showsExistingFrame = existing == 1
        isKeyFrame = false
        if showsExistingFrame { return }
        // frame_type, show_frame and error_resilient_mode.
        guard let type = bits.readBit(), bits.readBits(2) != nil else { return nil }
        isKeyFrame = type == 0
        guard isKeyFrame else { return }
        guard bits.readBits(24) == 0x49_8342, Self.skipColor(&bits, profile: profile),
            let horizontal = bits.readBits(16), let vertical = bits.readBits(16)
        else { return nil }
        width = Int(horizontal) + 1
        height = Int(vertical) + 1
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
