public import RTCWire

/// One coded picture or one packet of sound, as an encoder makes it and a decoder takes it.
public struct EncodedFrame: Sendable, Equatable {
    /// H.264 and H.265: one access unit as Annex B (start codes of 4 bytes). VP8: one frame. VP9: one picture, which is
    /// a superframe when it has several layers. AV1: one temporal unit in the low-overhead format. Sound: one packet.
    public var payload: [UInt8]
    /// In units of the codec's RTP clock (90,000 a second for video, 48,000 for Opus). A source may begin
    /// anywhere: the sender adds its own random offset.
    public var timestamp: UInt32
    /// A decoder can begin here. Always true for sound.
    public var isKeyFrame: Bool
    /// What the bytes are.
    public var format: PayloadFormat
    /// It was encrypted by who made it, behind a beginning that can be read: its end is sent to the last byte.
    public var isSealed = false
    /// What header extensions say about it.
    public var metadata: FrameMetadata
    /// When it was received whole, by the clock of its connection, however long it then waits for who reads it. Nil for
    /// frames that come from no peer. It is not sent.
    public var receivedAt: Instant?

    public init(
        payload: [UInt8], timestamp: UInt32, isKeyFrame: Bool, format: PayloadFormat,
        metadata: FrameMetadata = FrameMetadata()
    ) {
        self.payload = payload
        self.timestamp = timestamp
        self.isKeyFrame = isKeyFrame
        self.format = format
        self.metadata = metadata
    }
}
