/// Cuts coded frames into RTP payloads. One value for one RTP stream: VP8 numbers its pictures.
public struct Packetizer: Sendable {
    /// What the frames are.
    public let format: PayloadFormat
    /// No payload is longer, in bytes. Opus excepted: RFC 7587 has no way to split a packet.
    public let maximumPayloadSize: Int

    private enum Machine: Sendable {
        case h264(H264Packetizer)
        case vp8(VP8Packetizer)
        case opus
    }

    private var machine: Machine

    /// - Parameters:
    ///   - maximumPayloadSize: Bytes of payload that fit a packet, without the RTP header, extensions, the SRTP tag
    ///     and RTX's two bytes. At least 16 is used.
    ///   - firstPictureID: VP8: the first frame's picture id, of which 15 bits count. RFC 7741 §4.2: it may start
    ///     anywhere, so a random number is wise. Not used by the other formats.
    public init(format: PayloadFormat, maximumPayloadSize: Int = 1_100, firstPictureID: UInt16 = 0) {
        self.format = format
        self.maximumPayloadSize = max(maximumPayloadSize, 16)
        switch format {
        case .h264: machine = .h264(H264Packetizer(maximumPayloadSize: self.maximumPayloadSize))
        case .vp8:
            machine = .vp8(VP8Packetizer(maximumPayloadSize: self.maximumPayloadSize, pictureID: firstPictureID))
        case .opus: machine = .opus
        }
    }

    /// Appends the payloads of `frame` to `list`, in sending order. The caller sets the RTP marker on the last one
    /// (video), and empties the list beforehand when it should hold this frame only. A frame without content (no
    /// bytes, or H.264 without a NAL unit) adds nothing.
    public mutating func packetize(_ frame: RawSpan, into list: inout PayloadList) {
        switch machine {
        case .h264(let h264): h264.packetize(frame, into: &list)
        case .vp8(var vp8):
            vp8.packetize(frame, into: &list)
            machine = .vp8(vp8)
        case .opus:
            // RFC 7587 §4.2: exactly one Opus packet in one RTP packet.
            guard frame.byteCount > 0 else { return }
            list.bytes.append(contentsOf: frame)
            list.endPayload()
        }
    }
}
