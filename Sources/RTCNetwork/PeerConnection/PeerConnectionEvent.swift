public import RTCEngine

/// What a peer connection tells its user, in order. The names are W3C's event names.
public enum PeerConnectionEvent: Sendable {
    /// A description should be exchanged again (`negotiationneeded`).
    case negotiationNeeded
    /// A candidate to send to the peer; an empty one when no more follow for its generation (`icecandidate`).
    case iceCandidate(ICECandidateInit)
    /// A TURN server gave no candidate, or is lost; everything else goes on (`icecandidateerror`).
    case iceCandidateError(ICEServerError)
    /// The exchange of descriptions has moved on (`signalingstatechange`).
    case signalingStateChange(SignalingState)
    /// With the reason, in words for a log; it names no address.
    case iceConnectionStateChange(ICEConnectionState, because: String)
    /// Gathering has begun or is complete (`icegatheringstatechange`).
    case iceGatheringStateChange(ICEGatheringState)
    /// Media can flow, or cannot any more (`connectionstatechange`); with the reason, as above.
    case connectionStateChange(PeerConnectionState, because: String)
    /// The peer sends on this transceiver (`track`). It comes again when what it sends is in other streams.
    case track(RTPTransceiver)
    /// The peer has stopped sending on this transceiver, or our answer does not take what it sends. `track` comes again
    /// when that changes.
    case trackEnded(RTPTransceiver)
    /// The peer wants a picture that it can begin to decode at.
    case keyFrameRequested(RTPTransceiver)
    /// The peer has opened a data channel (`datachannel`). What it sends is kept until somebody listens.
    case dataChannel(DataChannel)
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
    /// The name of the media section it belongs to; goes before `sdpMLineIndex`.
    public var sdpMid: String?
    /// The place of the media section, counted from 0. One of the two is needed, except for the end of candidates.
    public var sdpMLineIndex: Int?
    /// The generation of ICE that it belongs to; nil for the newest.
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
