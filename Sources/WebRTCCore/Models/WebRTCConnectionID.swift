/// One connection of one peer. Whoever leaves and comes back has another one, so that what is still told about the
/// first is not taken for news of the second.
///
/// It is read from our own answer, so app, feature and engine agree on it without a word more: RFC 8866 §5.2 makes the
/// session id of the `o=` line unique, and RFC 8829 §5.2.2 keeps it for as long as the connection lives.
public struct WebRTCConnectionID: Hashable, Sendable {
    /// The peer.
    public let userId: String
    /// The session id of our answers; empty where they are no session descriptions, as in previews and tests.
    public let session: String

    public init(userId: String, session: String = "") {
        self.userId = userId
        self.session = session
    }

    /// The connection whose answer this is.
    public init(userId: String, answerSDP: String) {
        self.init(userId: userId, session: DescriptionScan(answerSDP).sessionID ?? "")
    }
}
