public import RTCNetwork

/// How a room is joined.
public struct ConnectOptions: Sendable {
    /// Everything that is published is received unasked.
    public var autoSubscribe = true
    /// Dynacast: pictures, and layers of them, are not sent while nobody takes them; else they are sent all the same.
    public var dynacast = false
    /// Attributes of ours that the others see from the start; the token has to allow them.
    public var attributes: [String: String] = [:]
    /// On which addresses of this machine media is sent and received; nil for all but loopback, and for loopback too
    /// where the server is there.
    public var addresses: PeerConnectionConfiguration.Addresses?
    /// Nothing but the server's TURN servers is used for media.
    public var relayOnly = false
    /// Whether the server's certificate is checked. Only tests have a reason to say no.
    public var verifiesCertificates = true
    /// The keys with which sound, pictures and messages are encrypted between clients; nil where they are not. With it
    /// we publish no data tracks, no AV1 and H.265, and what is encrypted with other keys, or not at all, is not
    /// taken.
    ///
    /// The server still sees who is in the room, their names, metadata and attributes, the recipients of a message, and
    /// the length and time of everything. It can also drop, repeat and reorder what it forwards; and if all
    /// participants share one password, it can attribute something to another participant.
    public var encryption: KeyProvider?
    /// With `encryption`: participants' tracks and messages that are not encrypted are accepted too. Participants
    /// without a key, and the server, can make such. Messages of the server itself are accepted in any case; its RPC
    /// calls and streams are only accepted with this.
    public var acceptsPlain = false
    /// Leads to a server in this process; then there is no URL to connect to.
    package var inProcessSignaling: InProcessSignaling?

    public init() {}
}
