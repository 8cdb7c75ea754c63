/// RFC 7741: a frame in pieces of equal size, each after a descriptor with a 15-bit picture id.
struct VP8Packetizer: Sendable {
    /// X, then I, then M with 15 bits of picture id.
    private static let descriptorSize = 4

    let maximumPayloadSize: Int
    /// Of the next frame.
    private(set) var pictureID: UInt16

    init(maximumPayloadSize: Int, pictureID: UInt16) {
        self.maximumPayloadSize = maximumPayloadSize
        self.pictureID = pictureID & 0x7fff
    }

    mutating func packetize(_ frame: RawSpan, into list: inout PayloadList) {
        guard frame.byteCount > 0 else { return }
        let limit = maximumPayloadSize - Self.descriptorSize
        let count = (frame.byteCount + limit - 1) / limit
        let size = (frame.byteCount + count - 1) / count
        var offset = 0
        while offset < frame.byteCount {
            let end = min(offset + size, frame.byteCount)
            // RFC 7741 §4.2: X; S only where the first partition begins; PID stays 0, as we do not cut at partitions.
            list.bytes.append(0x80 | (offset == 0 ? 0x10 : 0))
            list.bytes.append(0x80)
            list.bytes.append(uint16: 0x8000 | pictureID)
            list.bytes.append(contentsOf: frame.extracting(offset..<end))
            list.endPayload()
            offset = end
        }
        // RFC 7741 §4.2: incremented for each frame, wrapping.
        pictureID = (pictureID &+ 1) & 0x7fff
    }
}
