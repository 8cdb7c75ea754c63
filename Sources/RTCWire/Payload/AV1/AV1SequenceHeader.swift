/// What a sequence header tells of all its frames (AV1 bitstream specification §5.5).
public struct AV1SequenceHeader: Sendable, Hashable {
    /// 0 Main, 1 High, 2 Professional.
    public var profile: UInt8
    /// `seq_level_idx` of the first operating point.
    public var levelIndex: UInt8
    /// The largest, in pixels.
    public var width: Int
    public var height: Int

    /// From the unit's content; nil when it is cut off.
    public init?(_ content: RawSpan) {
        // What is read here takes less than 32 operating points of 21 bytes.
        var bits = BitReader(content.extracting(0..<min(1_024, content.byteCount)))
        guard let profile = bits.readBits(3), bits.readBit() != nil, let isReduced = bits.readBit() else { return nil }
        self.profile = UInt8(profile)
        if isReduced == 1 {
            guard let level = bits.readBits(5) else { return nil }
            levelIndex = UInt8(level)
        } else {
            guard let level = Self.readOperatingPoints(&bits) else { return nil }
            levelIndex = level
        }
        guard let widthBits = bits.readBits(4), let heightBits = bits.readBits(4),
            let width = bits.readBits(Int(widthBits) + 1), let height = bits.readBits(Int(heightBits) + 1)
        else { return nil }
        self.width = Int(width) + 1
        self.height = Int(height) + 1
    }

    /// Timing and operating points; the level of the first one.
    private static func readOperatingPoints(_ bits: inout BitReader) -> UInt8? {
        guard let hasTiming = bits.readBit() else { return nil }
        // Zero: there is no decoder model.
        var delayBits = 0
        if hasTiming == 1 {
            guard bits.readBits(32) != nil, bits.readBits(32) != nil, let isEqual = bits.readBit() else { return nil }
            // uvlc() is Exp-Golomb.
            if isEqual == 1, bits.readUnsigned() == nil { return nil }
            guard let hasModel = bits.readBit() else { return nil }
            if hasModel == 1 {
                guard let length = bits.readBits(5), bits.readBits(32) != nil, bits.readBits(10) != nil else {
                    return nil
                }
                delayBits = Int(length) + 1
            }
        }
        guard let hasDisplayDelay = bits.readBit(), let last = bits.readBits(5) else { return nil }
        var first: UInt8?
        for _ in 0...last {
            guard bits.readBits(12) != nil, let level = bits.readBits(5) else { return nil }
            if level > 7, bits.readBit() == nil { return nil }
            if delayBits > 0 {
                guard let isThere = bits.readBit() else { return nil }
                if isThere == 1 {
                    guard bits.readBits(delayBits) != nil, bits.readBits(delayBits) != nil, bits.readBit() != nil else {
                        return nil
                    }
                }
            }
            if hasDisplayDelay == 1 {
                guard let isThere = bits.readBit() else { return nil }
                if isThere == 1, bits.readBits(4) == nil { return nil }
            }
            first = first ?? UInt8(level)
        }
        return first
    }
}
