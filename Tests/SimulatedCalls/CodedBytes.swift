import RTCWire

/// Bytes that look to the stack like a coded frame, with a body at the end that tells one from another.
enum CodedBytes {
    /// - Parameter body: without zeros, which in H.264 could look like a start code.
    static func frame(_ format: PayloadFormat, isKeyFrame: Bool, body: [UInt8]) -> [UInt8] {
        switch format {
        case .opus, .pcmu, .pcma: return body
        case .vp8:
            // RFC 6386 §9.1: bit 0 of the frame tag is 0 for a key frame, whose start code and size follow.
            return (isKeyFrame ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00] : [0x11, 0, 0]) + body
        case .vp9:
            return (isKeyFrame ? [0x82, 0x49, 0x83, 0x42, 0x40, 0x13, 0xf0, 0x0b, 0x30] : [0x86, 0x00]) + body
        case .av1:
            let size = body.count + 1
            let head: [UInt8] =
                size < 128 ? [0x32, UInt8(size)] : [0x32, UInt8(size & 0x7f) | 0x80, UInt8(size >> 7)]
            return (isKeyFrame ? [0x0a, 0x03, 0x00, 0x00, 0x00] : []) + head + [isKeyFrame ? 0x10 : 0x30] + body
        case .h264:
            let slice: [UInt8] = [0, 0, 0, 1, isKeyFrame ? 0x65 : 0x41, 0x88] + body
            return isKeyFrame
                ? [0, 0, 0, 1, 0x67, 0x42, 0xe0, 0x1f, 0xda, 0, 0, 0, 1, 0x68, 0xce, 0x38, 0x80] + slice : slice
        case .h265:
            let slice: [UInt8] = [0, 0, 0, 1, isKeyFrame ? 0x26 : 0x02, 0x01, 0xaf] + body
            return isKeyFrame
                ? [0, 0, 0, 1, 0x40, 0x01, 0x0c, 0, 0, 0, 1, 0x42, 0x01, 0x01, 0, 0, 0, 1, 0x44, 0x01, 0xc1] + slice
                : slice
        }
    }
}
