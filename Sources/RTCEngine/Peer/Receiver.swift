/// The receiving side of a transceiver: what was negotiated, and the stream of the source that sends now.
struct Receiver {
    var parameters: ReceiveParameters
    /// Nil until a source is known, by a description or by its first packet.
    var stream: ReceiveStream?

    init(parameters: ReceiveParameters) { self.parameters = parameters }

    /// Whether a payload type carries media, rather than retransmissions.
    func isMedia(_ payloadType: UInt8) -> Bool { parameters.codecs.contains { $0.payloadType == payloadType } }

    /// The source of retransmissions that the peer has said for a source of media.
    func retransmissionSSRC(of ssrc: UInt32) -> UInt32? {
        guard let sources = parameters.sources, sources.primary == ssrc else { return nil }
        return sources.rtx
    }
}
