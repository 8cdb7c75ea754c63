public import RTCEngine

/// What a peer connection tells its user, in order. The names are W3C's event names.
public enum PeerConnectionEvent: Sendable {
    /// A description should be exchanged again (`negotiationneeded`).
    case negotiationNeeded
    /// A candidate to send to the peer; nil when gathering is complete (`icecandidate`).
    case iceCandidate(ICECandidateInit?)
    case signalingStateChange(SignalingState)
    /// With the reason, in words for a log; it names no address.
    case iceConnectionStateChange(ICEConnectionState, because: String)
    case iceGatheringStateChange(ICEGatheringState)
    case connectionStateChange(PeerConnectionState, because: String)
    /// The peer sends on this transceiver (`track`).
    case track(RTPTransceiver)
    /// The peer has stopped sending on this transceiver.
    case trackEnded(RTPTransceiver)
    /// The peer wants a picture that it can begin to decode at.
    case keyFrameRequested(RTPTransceiver)
}

/// A session description and its type (W3C: RTCSessionDescriptionInit).
public struct SessionDescriptionInit: Sendable, Hashable, Codable {
    /// `offer`, `pranswer`, `answer` or `rollback`.
    public var type: SDPType
    /// Empty for a rollback.
    public var sdp: String

    public init(type: SDPType, sdp: String) {
        self.type = type
        self.sdp = sdp
    }
}

/// A candidate as it is signaled (W3C: RTCIceCandidateInit).
public struct ICECandidateInit: Sendable, Hashable, Codable {
    /// `candidate:…`; empty for the end of candidates.
    public var candidate: String
    public var sdpMid: String?
    public var sdpMLineIndex: Int?
    public var usernameFragment: String?

    public init(
        candidate: String, sdpMid: String? = nil, sdpMLineIndex: Int? = nil, usernameFragment: String? = nil
    ) {
        self.candidate = candidate
        self.sdpMid = sdpMid
        self.sdpMLineIndex = sdpMLineIndex
        self.usernameFragment = usernameFragment
    }
}
