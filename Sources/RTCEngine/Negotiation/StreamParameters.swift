/// How to send on a transceiver, from the last answer.
public struct SendParameters: Sendable, Hashable {
    /// The media section's name, for the header extension of RFC 9143.
    public var mid: String
    /// The source we send as.
    public var ssrc: UInt32
    /// The source of retransmissions; nil when the codec has none negotiated.
    public var rtxSSRC: UInt32?
    /// For source descriptions in RTCP.
    public var cname: String
    /// What to send with, its payload type being the peer's and its `parameters` what the peer asks for.
    public var codec: CodecParameters
    /// Everything the peer takes, in the order of preference. `codec` is the first that frames can be sent with.
    public var codecs: [CodecParameters]
    /// Identifier by URI of the header extensions that may be sent.
    public var extensions: [String: UInt8]
    /// Header extensions of the two-byte form may be mixed in (RFC 8285 §4.1.2).
    public var allowsMixedExtensions: Bool
    /// RTCP may be sent as single packets (RFC 5506).
    public var allowsReducedSizeRTCP: Bool
    /// The layers that the peer takes; empty without simulcast.
    public var layers: [SendLayer] = []
}

/// The sources that the peer says it sends with (RFC 5576).
public struct SignaledSources: Sendable, Hashable {
    /// The source of the media itself.
    public var primary: UInt32
    /// The other one of an FID group.
    public var rtx: UInt32?
    /// The canonical name; nil when the peer does not say it.
    public var cname: String?
}

/// What may arrive on a transceiver, from the last answer, or from our own offer where the transport is already up.
public struct ReceiveParameters: Sendable, Hashable {
    public var mid: String
    /// By our payload types, in the order of preference.
    public var codecs: [CodecParameters]
    /// Nil when the peer tells its sources by mid or payload type only.
    public var sources: SignaledSources?
    /// Identifier by URI of the header extensions that may arrive.
    public var extensions: [String: UInt8]
    /// The layers that may arrive; empty without simulcast.
    public var layers: [ReceiveLayer] = []
}
