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
    /// we publish no data tracks, no VP9, AV1 and H.265, and what is encrypted with other keys, or not at all, is not
    /// taken.
    ///
    /// What of a room stays readable to the server: who is in it, their names, metadata and attributes, whom a message
    /// is for, how long things are and when they come. It can also leave out, repeat and reorder what it passes on, and
    /// where all have one password say that it was somebody else's.
    public var encryption: KeyProvider?
    /// With `encryption`: tracks and messages of participants that come unencrypted are taken, too. Whoever has no key,
    /// and the server, can make those. The server's own messages are taken in any case, its calls and streams are not.
    public var acceptsPlain = false
    /// Leads to a server in this process; then there is no URL to connect to.
    package var inProcessSignaling: InProcessSignaling?

    public init() {}
}
