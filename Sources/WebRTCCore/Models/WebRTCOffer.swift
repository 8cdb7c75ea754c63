/// An offer as it travels over the app's signaling: somebody wants to send us video.
public struct WebRTCOffer: Codable, Hashable, Sendable {
    /// The session description, `v=0…`.
    public var sdp: String
    /// `offer`.
    public var type: String
    /// Who offers. Names the peer from here on: in the state, in errors, in the answer.
    public var from: String
    /// Who is to answer.
    public var to: String
    /// What the pictures are of, in the sender's words, such as `camera` or `screen`. Carried into the answer.
    public var videoSource: String

    public init(sdp: String, type: String, from: String, to: String, videoSource: String) {
        self.sdp = sdp
        self.type = type
        self.from = from
        self.to = to
        self.videoSource = videoSource
    }
}
