public import RTCWire

/// Where the exchange of descriptions stands (W3C WebRTC §4.3.1, RFC 8829 §3.2).
public enum SignalingState: String, Sendable, Hashable {
    case stable
    case haveLocalOffer = "have-local-offer"
    case haveRemoteOffer = "have-remote-offer"
    case haveLocalPranswer = "have-local-pranswer"
    case haveRemotePranswer = "have-remote-pranswer"
    case closed
}

/// What a description is for (W3C WebRTC §4.6.1).
public enum SDPType: String, Sendable, Hashable, Codable {
    case offer, pranswer, answer, rollback
}

/// What a media section carries.
public enum MediaKind: String, Sendable, Hashable, CaseIterable {
    case audio, video
}

/// The peer that a description speaks for.
public enum DescriptionSide: Sendable, Hashable {
    case local, remote
}

/// A description with its type (W3C: RTCSessionDescription).
public struct TypedDescription: Sendable, Hashable {
    /// Never `.rollback`.
    public var type: SDPType
    public var sdp: SessionDescription

    public init(type: SDPType, sdp: SessionDescription) {
        self.type = type
        self.sdp = sdp
    }
}

/// What to do with an offer that comes while our own is out ("glare").
public enum GlareRule: Sendable, Hashable {
    /// Refuse it with `NegotiationError.wrongState`; the peer has to give way, or the owner rolls back.
    case refuse
    /// Roll our offer back first, as W3C's setRemoteDescription does: the polite peer of "perfect negotiation".
    case rollBack
}
