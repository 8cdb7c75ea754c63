/// Cuts coded frames into RTP payloads. One value for one RTP stream: VP8 and VP9 number their pictures.
public struct Packetizer: Sendable {
    /// What the frames are.
    public let format: PayloadFormat
    /// No payload is longer, in bytes. Sound excepted: RFC 7587 has no way to split a packet.
    public let maximumPayloadSize: Int

    private enum Machine: Sendable {
        case h264(H264Packetizer)
        case vp8(VP8Packetizer)
        case vp9(VP9Packetizer)
        case av1(AV1Packetizer)
        case h265(H265Packetizer)
        /// Opus and G.711: one frame is one packet.
        case whole
    }

    private var machine: Machine

    /// - Parameters:
    ///   - maximumPayloadSize: Bytes of payload that fit a packet, without the RTP header, extensions, the SRTP tag
    ///     and RTX's two bytes. At least 16 is used.
    ///   - firstPictureID: VP8 and VP9: the first frame's picture id, of which 15 bits count. RFC 7741 §4.2: it may
    ///     start anywhere, so a random number is wise. Not used by the other formats.
    ///   - isFlexible: VP9: each payload says which picture it refers to (RFC 9628 §4.2, F), here the one before.
    public init(
        format: PayloadFormat, maximumPayloadSize: Int = 1_100, firstPictureID: UInt16 = 0, isFlexible: Bool = false
    ) {
        self.format = format
        self.maximumPayloadSize = max(maximumPayloadSize, 16)
        switch format {
        case .h264: machine = .h264(H264Packetizer(maximumPayloadSize: self.maximumPayloadSize))
        case .vp8:
            machine = .vp8(VP8Packetizer(maximumPayloadSize: self.maximumPayloadSize, pictureID: firstPictureID))
        case .vp9:
            machine = .vp9(
                VP9Packetizer(
                    maximumPayloadSize: self.maximumPayloadSize, pictureID: firstPictureID, isFlexible: isFlexible))
        case .av1: machine = .av1(AV1Packetizer(maximumPayloadSize: self.maximumPayloadSize))
        case .h265: machine = .h265(H265Packetizer(maximumPayloadSize: self.maximumPayloadSize))
        case .opus, .pcmu, .pcma: machine = .whole
        }
    }

    /// VP8 and VP9: the picture id of the next frame. Nil for the other formats.
    public var nextPictureID: UInt16? {
        switch machine {
        case .vp8(let packetizer): packetizer.pictureID
        case .vp9(let packetizer): packetizer.pictureID
        case .h264, .av1, .h265, .whole: nil
        }
    }

    /// Appends the payloads of `frame` to `list`, in sending order. The caller sets the RTP marker on the last one
    /// (video), and empties the list beforehand when it should hold this frame only. A frame without content (no
    /// bytes, H.264 without a NAL unit, AV1 without a unit) adds nothing.
    ///
    /// - Parameters:
    ///   - isSealed: the frame was encrypted, so that its end means nothing here: of H.264, zeros at the end are part
    ///     of it. Of VP9, nothing in it means anything.
    ///   - isKeyFrame: of a VP9 frame that is sealed; others say it themselves.
    public mutating func packetize(
        _ frame: RawSpan, isSealed: Bool = false, isKeyFrame: Bool = false, into list: inout PayloadList
    ) {
        switch machine {
        case .h264(let h264): h264.packetize(frame, isSealed: isSealed, into: &list)
        case .vp8(var vp8):
            vp8.packetize(frame, into: &list)
            machine = .vp8(vp8)
        case .vp9(var vp9):
            let content: VP9Packetizer.Content = isSealed ? .sealed(isKeyFrame: isKeyFrame) : .readable
            vp9.packetize(frame, content, into: &list)
            machine = .vp9(vp9)
        case .av1(let av1): av1.packetize(frame, into: &list)
        case .h265(let h265): h265.packetize(frame, into: &list)
        case .whole:
            // RFC 7587 §4.2: exactly one Opus packet in one RTP packet.
            guard frame.byteCount > 0 else { return }
            list.bytes.append(contentsOf: frame)
            list.endPayload()
        }
    }
}
