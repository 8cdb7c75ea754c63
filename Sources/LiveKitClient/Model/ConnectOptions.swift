public import RTCNetwork

/// How a room is joined.
public struct ConnectOptions: Sendable {
    /// Everything that is published is received unasked.
    public var autoSubscribe = true
    /// What we are told to say of ourselves; the token has to allow it.
    public var attributes: [String: String] = [:]
    /// On which addresses of this machine media is sent and received; nil for all but loopback, and for loopback too
    /// where the server is there.
    public var addresses: PeerConnectionConfiguration.Addresses?
    /// Nothing but the server's TURN servers is used for media.
    public var relayOnly = false
    /// Whether the server's certificate is checked. Only tests have a reason to say no.
    public var verifiesCertificates = true
    /// The keys with which sound, pictures and messages are encrypted between clients; nil where they are not. With it
    /// there are no data tracks of ours, no AV1 and no H.265, and what is encrypted with other keys is not heard.
    public var encryption: KeyProvider?
    /// With `encryption`: messages of participants that come unencrypted are taken, too. Whoever has no key, and the
    /// server, can write those.
    public var acceptsPlainMessages = false
    /// Leads to a server in this process; then there is no URL to connect to.
    package var door: SignalDoor?

    public init() {}
}
