/// Which data channels are taken, what we tell the peer of them, and what it may make us keep.
public struct DataChannelConfiguration: Sendable, Hashable {
    /// Whether a section for data channels in the peer's offer is accepted. Channels of our own are offered either way.
    public var acceptsOffers = true
    /// Whether a first offer of ours has the section for data channels before those of media; RFC 8829 §5.2.1 has it
    /// last. The first section stands for the bundle, and each peer accepts this one. A section of media is rejected by
    /// who knows none of its codecs, and Chromium then cannot set up the transport of those behind it.
    public var isOfferedFirst = false
    /// The largest message that we take, as `a=max-message-size` tells the peer. Bytes.
    public var maximumMessageSize = 262_144
    /// A smaller size to tell the peer instead, where larger messages are of no use and are still no reason to end the
    /// association; nil for `maximumMessageSize`. Bytes.
    public var announcedMessageSize: Int?
    /// Channels that the peer has opened and that are not closed; further ones are reset.
    public var maximumRemoteChannels = 1_024
    /// Labels and protocols of those channels together. Bytes.
    public var maximumRemoteNames = 1 << 20
    /// Incomplete messages of the deprecated partial forms, over all channels. Bytes.
    public var maximumPartialBytes = 1 << 20
    /// What is kept of messages that are not whole, not in their turn, or not taken by the application; see
    /// `SCTPConfiguration.receiveBuffer`. Not less than 2 MiB: who reads is heard of from one on. Bytes.
    package var receiveBuffer = SCTPConfiguration().receiveBuffer

    public init() {}
}
