/// What happened, as `CallMachine` takes it.
public enum CallFact: Hashable, Sendable {
    /// The user opened the call.
    case started
    /// Camera, microphone and peer connection are there.
    case mediaOpened
    /// They cannot be had; the detail is a sentence.
    case mediaUnavailable(String)
    /// The engine made the offer that was asked for.
    case offerMade(SessionDescriptionPayload)
    /// The engine applied the partner's offer and made the answer.
    case answerMade(SessionDescriptionPayload)
    /// The engine applied the partner's answer.
    case answerApplied
    /// Making or applying a description failed; the detail is a sentence.
    case negotiationFailed(String)
    case localCandidate(IceCandidatePayload)
    case mediaConnection(CallMediaConnectionState)
    case negotiationNeeded
    case offerReceived(SessionDescriptionPayload)
    case answerReceived(SessionDescriptionPayload)
    case candidateReceived(IceCandidatePayload)
    /// The partner of this call left the room.
    case peerLeft
    case signalingLost
    case signalingRestored
    case signalingClosed(reason: String)
    /// The user ended the call.
    case hungUp
}

/// What is to be done, in order.
public enum CallCommand: Hashable, Sendable {
    case openMedia
    /// Answered by `offerMade` or `negotiationFailed`.
    case makeOffer(restartingIce: Bool)
    /// Answered by `answerMade` or `negotiationFailed`.
    case makeAnswer(to: SessionDescriptionPayload)
    /// Answered by `answerApplied` or `negotiationFailed`.
    case applyAnswer(SessionDescriptionPayload)
    case addCandidate(IceCandidatePayload)
    case send(CallSignal)
    /// The call moved on; the reason is for the log.
    case announce(CallState, because: String)
    case closeMedia
}
