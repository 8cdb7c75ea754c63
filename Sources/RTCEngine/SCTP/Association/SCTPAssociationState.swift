/// The states of RFC 9260 §4. CLOSED is two here: an association that may begin, and one that is over.
public enum SCTPAssociationState: Hashable, Sendable {
    case new
    case cookieWait, cookieEchoed
    case established
    case shutdownPending, shutdownSent, shutdownReceived, shutdownAckSent
    case closed(SCTPCloseReason)

    /// Whether data of the user's may be handed to `send`.
    var acceptsMessages: Bool {
        switch self {
        case .new, .cookieWait, .cookieEchoed, .established: true
        case .shutdownPending, .shutdownSent, .shutdownReceived, .shutdownAckSent, .closed: false
        }
    }

    /// RFC 9260 §6: whether DATA may be sent, new or again.
    var sendsData: Bool {
        switch self {
        case .established, .shutdownPending, .shutdownReceived: true
        case .new, .cookieWait, .cookieEchoed, .shutdownSent, .shutdownAckSent, .closed: false
        }
    }

    /// RFC 9260 §6, §9.2: whether DATA of the peer's is taken.
    var takesData: Bool {
        switch self {
        case .established, .shutdownPending, .shutdownSent: true
        case .new, .cookieWait, .cookieEchoed, .shutdownReceived, .shutdownAckSent, .closed: false
        }
    }

    /// Whether the handshake is done and the end has not come.
    var isLive: Bool {
        switch self {
        case .established, .shutdownPending, .shutdownSent, .shutdownReceived, .shutdownAckSent: true
        case .new, .cookieWait, .cookieEchoed, .closed: false
        }
    }

    var isClosed: Bool {
        if case .closed = self { true } else { false }
    }
}
