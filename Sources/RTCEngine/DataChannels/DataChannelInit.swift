/// Names a data channel of one connection for as long as the connection lives; the stream that carries it may be
/// another channel's later.
public struct DataChannelID: Sendable, Hashable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Where a data channel stands (W3C WebRTC §6.2: RTCDataChannelState).
public enum DataChannelState: String, Sendable, Hashable {
    case connecting, open, closing, closed
}

/// What a data channel is made with (W3C: RTCDataChannelInit).
public struct DataChannelInit: Sendable, Hashable {
    /// Messages arrive in the order in which they were sent.
    public var ordered: Bool
    /// A message that has not arrived after so many milliseconds is given up. Not together with `maxRetransmits`.
    public var maxPacketLifeTime: UInt16?
    /// A message is given up after so many retransmissions. Not together with `maxPacketLifeTime`.
    public var maxRetransmits: UInt16?
    /// The name of what is spoken on the channel. At most 65,535 bytes of UTF-8.
    public var `protocol`: String
    /// Both applications make the channel by themselves, with the same `id`; nothing is said in band.
    public var negotiated: Bool
    /// The stream of a negotiated channel, 0 to 65,534; ignored for others, which are given a free one.
    public var id: UInt16?

    public init(
        ordered: Bool = true, maxPacketLifeTime: UInt16? = nil, maxRetransmits: UInt16? = nil, protocol: String = "",
        negotiated: Bool = false, id: UInt16? = nil
    ) {
        self.ordered = ordered
        self.maxPacketLifeTime = maxPacketLifeTime
        self.maxRetransmits = maxRetransmits
        self.protocol = `protocol`
        self.negotiated = negotiated
        self.id = id
    }
}

/// What is known of a data channel.
public struct DataChannelDescription: Sendable, Hashable {
    public var label: String
    /// As it was made, or as the peer has told; `id` is nil until there is a stream for it, which is so once an answer
    /// has said which side is the client in DTLS.
    public var options: DataChannelInit
    public var state: DataChannelState
    /// The peer has opened it.
    public var isRemote: Bool
}
