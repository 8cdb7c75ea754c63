import RTCWire

/// What some of LiveKit's clients put behind a picture, of pictures in spatial layers behind each layer's: when it was
/// taken, its number, data of the application. Its end says what it is: a byte with its whole length, each bit of it
/// turned, and `LKTS`. Decoders take it for a part of the picture, so it is not for those who do not take it off.
enum PacketTrailer {
    /// `LKTS`.
    static let mark: UInt32 = 0x4c4b_5453
    /// The length and the mark.
    private static let envelope = 5

    /// How long the trailer at the end of a payload is, in bytes, of a packet that ends a picture or a layer's; 0 where
    /// there is none, and where it cannot be cut off: something of the picture has to be left.
    static func size(of payload: RawSpan, _ format: PayloadFormat) -> Int {
        guard payload.byteCount >= envelope, payload.uint32(at: payload.byteCount - 4) == mark,
            let turned = payload.byte(at: payload.byteCount - envelope), let head = head(of: payload, format)
        else { return 0 }
        let size = Int(~turned)
        return size >= envelope && payload.byteCount - size > head ? size : 0
    }

    /// How many bytes at the beginning of a payload are none of the picture's; nil where no bytes can be taken off its
    /// end, since it says how long its parts are.
    private static func head(of payload: RawSpan, _ format: PayloadFormat) -> Int? {
        switch format {
        case .vp8: return VP8PayloadDescriptor(payload)?.byteCount
        case .vp9: return VP9PayloadDescriptor(payload)?.byteCount
        case .h264:
            // RFC 6184 §5.2: 24 to 27 are aggregates, 28 and 29 fragments.
            switch payload.byte(at: 0).map({ $0 & 0x1f }) {
            case 24, 25, 26, 27, nil: return nil
            case 28: return 2
            case 29: return 4
            default: return 1
            }
        case .h265:
            // RFC 7798 §4.4: 48 are aggregates, 49 fragments.
            switch payload.byte(at: 0).map({ $0 >> 1 & 0x3f }) {
            case 48, nil: return nil
            case 49: return 3
            default: return 2
            }
        // The AV1 RTP specification §4.4: the aggregation header.
        case .av1: return 1
        case .opus, .pcmu, .pcma: return nil
        }
    }
}
