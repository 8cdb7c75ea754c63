internal import ClientKit

extension VideoChatViewModel.Ending {
    /// What the room's screen says about the call that just ended.
    func note(in chat: VideoChatState) -> String {
        let partner = chat.peerUsername ?? "the \(chat.role.opposite.rawValue)"
        return switch reason {
        case .peerLeft: "\(chat.peerName) left the room, so the call is over."
        case .peerClosedMedia: "\(chat.peerName) ended the call."
        case .noAnswer: "\(chat.peerName) did not answer."
        case .mediaNeverConnected: "No connection to \(partner) could be made."
        case .mediaLost: "The connection to \(partner) was lost."
        case .hungUp, .mediaUnavailable, .negotiationFailed, .signalingClosed: reason.sentence
        }
    }

    /// Whether the partner still believes in the call. Somebody who only waited for an offer has no partner yet.
    var partnerMustBeTold: Bool {
        switch from {
        case .idle, .waitingForOffer: return false
        case .offering, .answering, .connecting, .connected, .reconnectingMedia, .ended: break
        }
        switch reason {
        case .hungUp, .noAnswer, .mediaUnavailable, .negotiationFailed, .mediaNeverConnected, .mediaLost: return true
        case .peerLeft, .peerClosedMedia, .signalingClosed: return false
        }
    }
}
