/// RFC 7741: strips the descriptors and joins what follows them.
struct VP8Depacketizer: Sendable {
    /// Of the frame that is being joined.
    private var pictureID: UInt16?

    mutating func append(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        guard let descriptor = VP8PayloadDescriptor(payload) else { return false }
        let contentSize = payload.byteCount - descriptor.byteCount
        guard contentSize > 0, frame.count + contentSize <= Depacketizer.maximumFrameSize else { return false }
        if frame.isEmpty {
            guard descriptor.startsFrame else { return false }
            pictureID = descriptor.pictureID
        } else {
            // RFC 7741 §4.5.1: a frame's payloads share its picture id, and only the first one starts it.
            guard !descriptor.startsFrame, descriptor.pictureID == pictureID else { return false }
        }
        frame.append(contentsOf: payload.extracting(descriptor.byteCount..<payload.byteCount))
        return true
    }

    static func startsFrame(_ payload: RawSpan) -> Bool {
        guard let descriptor = VP8PayloadDescriptor(payload) else { return false }
        return descriptor.startsFrame && payload.byteCount > descriptor.byteCount
    }

    static func startsKeyFrame(_ payload: RawSpan) -> Bool {
        guard let descriptor = VP8PayloadDescriptor(payload), descriptor.startsFrame,
            let first = payload.byte(at: descriptor.byteCount)
        else { return false }
        // RFC 7741 §4.3: P is the lowest bit; 0 is a key frame.
        return first & 0x01 == 0
    }
}
