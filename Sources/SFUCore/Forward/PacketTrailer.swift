import RTCWire

/// What some of LiveKit's clients put behind a picture: when it was taken, its number, data of the application. Its end
/// says what it is: a byte with its whole length, each bit of it turned, and `LKTS`. Decoders take it for a part of the
/// picture, so it is not for those who do not take it off.
enum PacketTrailer {
    /// `LKTS`.
    static let mark: UInt32 = 0x4c4b_5453
    /// The length and the mark.
    private static let envelope = 5

    /// How long the trailer at the end of a payload is, in bytes, of a picture's last packet; 0 where there is none.
    static func size(of payload: RawSpan) -> Int {
        guard payload.byteCount >= envelope, payload.uint32(at: payload.byteCount - 4) == mark,
            let turned = payload.byte(at: payload.byteCount - envelope)
        else { return 0 }
        let size = Int(~turned)
        return (envelope...payload.byteCount).contains(size) ? size : 0
    }
}
