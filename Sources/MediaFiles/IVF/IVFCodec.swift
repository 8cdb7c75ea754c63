import RTCWire

/// The codecs of an IVF file, by their four characters.
enum IVFCodec: UInt32 {
    case vp8 = 0x5650_3830
    case vp9 = 0x5650_3930
    case av1 = 0x4156_3031

    init?(format: PayloadFormat) {
        switch format {
        case .vp8: self = .vp8
        case .vp9: self = .vp9
        case .av1: self = .av1
        case .h264, .h265, .opus, .pcmu, .pcma: return nil
        }
    }

    var format: PayloadFormat {
        switch self {
        case .vp8: .vp8
        case .vp9: .vp9
        case .av1: .av1
        }
    }

    /// In pixels, of the highest layer; nil when the frame does not tell.
    func size(ofKeyFrame frame: [UInt8]) -> (width: Int, height: Int)? {
        switch self {
        case .vp8:
            guard let header = VP8FrameHeader(frame.span.bytes), let width = header.width, let height = header.height
            else { return nil }
            return (width, height)
        case .vp9: return VP9Superframe.pictureSize(of: frame.span.bytes)
        case .av1:
            guard let header = AV1SequenceHeader(inTemporalUnit: frame.span.bytes) else { return nil }
            return (header.width, header.height)
        }
    }

    /// What stands before each frame. In a file an AV1 temporal unit begins with its delimiter (AV1 bitstream
    /// specification §7.5), which RTP leaves out.
    var frameHead: [UInt8] {
        switch self {
        case .vp8, .vp9: []
        case .av1: [0x12, 0x00]
        }
    }
}
