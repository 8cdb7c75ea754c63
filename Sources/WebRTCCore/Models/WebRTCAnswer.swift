/// An answer as it travels over the app's signaling: what of an offer is received.
public struct WebRTCAnswer: Codable, Hashable, Sendable {
    /// The session description, `v=0…`.
    public var sdp: String
    /// `answer`.
    public var type: String
    /// Who answers.
    public var from: String
    /// Who made the offer.
    public var to: String
    /// The offer's `videoSource`.
    public var videoSource: String

    public init(sdp: String, type: String, from: String, to: String, videoSource: String) {
        self.sdp = sdp
        self.type = type
        self.from = from
        self.to = to
        self.videoSource = videoSource
    }

    /// Answers `offer`: its sender becomes the receiver.
    init(to offer: WebRTCOffer, sdp: String) {
        self.init(sdp: sdp, type: "answer", from: offer.to, to: offer.from, videoSource: offer.videoSource)
    }
}
