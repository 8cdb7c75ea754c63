/// Where a call stands.
public enum CallState: Hashable, Sendable {
    /// Nothing has been done yet.
    case idle
    /// The callee is ready.
    case waitingForOffer
    /// The caller's offer is being made or is out and unanswered.
    case offering
    /// The callee has the offer and works on its answer.
    case answering
    /// Both descriptions are agreed; media looks for its way.
    case connecting
    /// Media flows.
    case connected
    /// Media stopped flowing and is being repaired.
    case reconnectingMedia
    /// Over. Nothing follows.
    case ended(CallEndReason)

    /// Why the call is over; nil while it is not.
    public var endReason: CallEndReason? {
        switch self {
        case .ended(let reason): reason
        case .idle, .waitingForOffer, .offering, .answering, .connecting, .connected, .reconnectingMedia: nil
        }
    }

    /// One line for people.
    public var text: String {
        switch self {
        case .idle: "Preparing…"
        case .waitingForOffer: "Waiting for the call…"
        case .offering: "Calling…"
        case .answering: "Answering…"
        case .connecting: "Connecting…"
        case .connected: "In the call"
        case .reconnectingMedia: "The connection is interrupted, trying to restore it…"
        case .ended(let reason): reason.sentence
        }
    }
}

/// Why a call is over.
public enum CallEndReason: Hashable, Sendable {
    /// The user ended it.
    case hungUp
    /// The partner left the room.
    case peerLeft
    /// The partner closed the media connection without leaving the room.
    case peerClosedMedia
    /// The offer stayed without an answer.
    case noAnswer
    /// No camera, microphone or socket could be had; the detail is a sentence.
    case mediaUnavailable(String)
    /// Offer or answer could not be made or were not accepted; the detail is a sentence.
    case negotiationFailed(String)
    /// Media never found its way to the partner.
    case mediaNeverConnected
    /// Media stopped and could not be restored.
    case mediaLost
    /// The signaling connection went for good before media flowed.
    case signalingClosed(String)

    /// Whether something went wrong, rather than somebody ending the call.
    public var isFailure: Bool {
        switch self {
        case .hungUp, .peerLeft, .peerClosedMedia: false
        case .noAnswer, .mediaUnavailable, .negotiationFailed, .mediaNeverConnected, .mediaLost, .signalingClosed: true
        }
    }

    /// One sentence for people.
    public var sentence: String {
        switch self {
        case .hungUp: "You ended the call."
        case .peerLeft: "The other side left the room."
        case .peerClosedMedia: "The other side ended the call."
        case .noAnswer: "Nobody answered."
        case .mediaUnavailable(let sentence): sentence
        case .negotiationFailed(let sentence): sentence
        case .mediaNeverConnected: "No connection to the other side could be made."
        case .mediaLost: "The connection to the other side was lost."
        case .signalingClosed(let reason): "The signaling connection is gone: \(reason)."
        }
    }
}

/// How long a call's steps may take.
public struct CallPolicy: Hashable, Sendable {
    /// An unanswered offer is sent again after this long.
    public var offerRepeat: Duration = .seconds(4)
    /// An offer without an answer ends the call after this long.
    public var answerDeadline: Duration = .seconds(60)
    /// From the answer to flowing media.
    public var connectDeadline: Duration = .seconds(30)
    /// How long a disturbed connection may heal by itself before ICE is restarted.
    public var disturbanceGrace: Duration = .seconds(5)
    /// From the ICE restart (the callee: from the failure) to flowing media.
    public var restartDeadline: Duration = .seconds(20)
    /// Candidates kept for a description that has not come. More than any real peer sends.
    public var heldCandidateLimit = 256

    public init() {}
}
