/// Which data channels are taken, what we tell the peer of them, and what it may make us keep.
public struct DataChannelConfiguration: Sendable {
    /// Whether a section for data channels in the peer's offer is accepted. Channels of our own are offered either way.
    public var acceptsOffers = true
    /// The largest message that we take, as `a=max-message-size` tells the peer. Bytes.
    public var maximumMessageSize = 262_144
    /// Channels that the peer has opened and that are not closed; further ones are reset.
    public var maximumRemoteChannels = 1_024
    /// Labels and protocols of those channels together. Bytes.
    public var maximumRemoteNames = 1 << 20
    /// Incomplete messages of the deprecated partial forms, over all channels. Bytes.
    public var maximumPartialBytes = 1 << 20

    public init() {}
}
