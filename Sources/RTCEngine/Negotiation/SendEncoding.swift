/// One of the layers in which a picture is sent (W3C: RTCRtpEncodingParameters).
public struct SendEncoding: Sendable, Hashable {
    /// The most that one transceiver sends or receives.
    public static let maximumCount = 8

    /// The layer's name (RFC 8851 §10: letters and digits), unique in its transceiver.
    public var rid: String
    /// Frames of a layer that is not active are not sent.
    public var isActive: Bool
    /// In bits a second; nil for no limit. For whoever encodes: nothing is encoded here.
    public var maxBitrate: Int?
    /// How many times smaller than the source the layer's pictures are, for whoever encodes.
    public var scaleResolutionDownBy: Double?

    public init(rid: String, isActive: Bool = true, maxBitrate: Int? = nil, scaleResolutionDownBy: Double? = nil) {
        self.rid = rid
        self.isActive = isActive
        self.maxBitrate = maxBitrate
        self.scaleResolutionDownBy = scaleResolutionDownBy
    }

    /// RFC 8851 §10 allows `-` and `_` too, which RFC 8852 §3.1 takes back. Bounded, for each packet carries it.
    var isValid: Bool {
        (1...16).contains(rid.utf8.count)
            && rid.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
            }
    }
}

/// A layer of a transceiver with the sources that it is sent with.
struct LayerSources: Sendable, Hashable {
    var encoding: SendEncoding
    var ssrc: UInt32
    var rtxSSRC: UInt32
}

/// A layer that the answer lets us send.
public struct SendLayer: Sendable, Hashable {
    public var rid: String
    public var ssrc: UInt32
    /// Nil when the codec has no retransmissions negotiated.
    public var rtxSSRC: UInt32?
    public var isActive: Bool
}

/// A layer that may arrive: told apart by its name in header extensions, or by a source that the description names.
public struct ReceiveLayer: Sendable, Hashable {
    /// The name; of the layers of an SSRC group, their place.
    public var rid: String
    /// Of the older form (`a=ssrc-group:SIM`); nil when packets name their layer.
    public var sources: SignaledSources?
}
