public import RTCWire

/// What a change of descriptions asks of the transport and of the streams. They are to be done in order.
public enum NegotiationAction: Sendable, Equatable {
    /// The part to play in ICE. Said once the first description is set, and never again.
    case iceRole(ICERole)
    /// Begin a new generation of ICE with this credential of ours.
    case restartICE(local: ICEParameters)
    /// The peer's credential; one that differs from the last is the peer's half of a restart.
    case setRemoteICE(ICEParameters, isLite: Bool)
    case addRemoteCandidate(ICECandidate)
    /// The peer has said all candidates of this generation.
    case endOfRemoteCandidates
    /// Begin the DTLS handshake. Said once.
    case startDTLS(DTLSRole, fingerprints: [Fingerprint])
    /// The peer's offer has made a transceiver.
    case transceiverAdded(TransceiverID)
    /// What the descriptions say of data channels; nil when a side refuses them. Only said when it differs from before.
    case configureDataChannels(DataAgreement?)
    /// What to receive; nil to stop. Only said when it differs from before.
    case configureReceiver(TransceiverID, ReceiveParameters?)
    /// What to send; nil to stop. Only said when it differs from before.
    case configureSender(TransceiverID, SendParameters?)
    /// The peer sends on this transceiver from now on, or what it sends is in other streams (W3C: `track`).
    case trackAdded(TransceiverID)
    /// The peer sends on it no more, or our answer does not take it.
    case trackRemoved(TransceiverID)
    /// It has ended for good, or a rollback has taken it away.
    case transceiverStopped(TransceiverID)
    case signalingStateChanged(SignalingState)
}
