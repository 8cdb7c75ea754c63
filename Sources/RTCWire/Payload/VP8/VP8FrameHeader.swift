/// The uncompressed data at the start of a VP8 frame (RFC 6386 §9.1).
public struct VP8FrameHeader: Sendable, Hashable {
    public var isKeyFrame: Bool
    /// 0 to 3: which filters the decoder uses.
    public var version: UInt8
    /// False for a frame that is decoded and not displayed (an alternate reference).
    public var isShown: Bool
    /// Bytes of the first partition.
    public var firstPartitionSize: Int
    /// In pixels; nil in frames that are not key frames.
    public var width: Int?
    public var height: Int?

    /// Nil when the header is cut off, or a key frame lacks its start code.
    public init?(_ frame: RawSpan) {
        guard let first = frame.byte(at: 0), let second = frame.byte(at: 1), let third = frame.byte(at: 2) else {
            return nil
        }
        // RFC 6386 §9.1: a 24-bit little-endian tag; the key-frame bit is inverted.
        let tag = UInt32(first) | UInt32(second) << 8 | UInt32(third) << 16
        isKeyFrame = tag & 1 == 0
        version = UInt8(truncatingIfNeeded: tag >> 1 & 0x7)
        isShown = tag >> 4 & 1 == 1
        firstPartitionSize = Int(tag >> 5)
        guard isKeyFrame else { return }
        guard frame.byte(at: 3) == 0x9d, frame.byte(at: 4) == 0x01, frame.byte(at: 5) == 0x2a,
            let horizontal = frame.uint16(at: 6)?.byteSwapped, let vertical = frame.uint16(at: 8)?.byteSwapped
        else { return nil }
        // The upper two bits are a scaling hint for the display.
        width = Int(horizontal & 0x3fff)
        height = Int(vertical & 0x3fff)
    }
}
