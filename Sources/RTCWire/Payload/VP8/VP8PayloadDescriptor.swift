/// What stands before the VP8 data in each RTP payload (RFC 7741 §4.2).
public struct VP8PayloadDescriptor: Sendable, Hashable {
    /// N: no other frame refers to this one.
    public var isDiscardable: Bool
    /// S: a partition begins in this payload.
    public var startsPartition: Bool
    /// PID, three bits.
    public var partitionIndex: UInt8
    /// 7 or 15 bits; nil when absent.
    public var pictureID: UInt16?
    /// TL0PICIDX; nil when absent.
    public var temporalBaseIndex: UInt8?
    /// TID, two bits; nil when absent.
    public var temporalLayer: UInt8?
    /// How many bytes the descriptor takes.
    public var byteCount: Int

    /// The first payload of a frame (RFC 7741 §4.2: S is set and PID is 0).
    public var startsFrame: Bool { startsPartition && partitionIndex == 0 }

    /// Reads the descriptor at the start of a payload; nil when it is cut off.
    public init?(_ payload: RawSpan) {
        var reader = ByteReader(payload)
        guard let first = reader.readUInt8() else { return nil }
        isDiscardable = first & 0x20 != 0
        startsPartition = first & 0x10 != 0
        // RFC 7741 §4.2: the bit between S and PID is reserved and ignored.
        partitionIndex = first & 0x07
        guard first & 0x80 != 0 else {
            byteCount = reader.offset
            return
        }
        guard let present = reader.readUInt8() else { return nil }
        if present & 0x80 != 0 {
            guard let high = reader.readUInt8() else { return nil }
            if high & 0x80 != 0 {
                guard let low = reader.readUInt8() else { return nil }
                pictureID = UInt16(high & 0x7f) << 8 | UInt16(low)
            } else {
                pictureID = UInt16(high)
            }
        }
        if present & 0x40 != 0 {
            guard let index = reader.readUInt8() else { return nil }
            temporalBaseIndex = index
        }
        // T and K share one byte.
        if present & 0x30 != 0 {
            guard let layers = reader.readUInt8() else { return nil }
            if present & 0x20 != 0 { temporalLayer = layers >> 6 }
        }
        byteCount = reader.offset
    }
}
