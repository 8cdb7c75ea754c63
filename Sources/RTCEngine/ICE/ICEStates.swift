/// Which agent decides about the pair (RFC 8445 §6.1.1).
public enum ICERole: Hashable, Sendable {
    case controlling, controlled

    var opposite: ICERole {
        switch self {
        case .controlling: .controlled
        case .controlled: .controlling
        }
    }
}

/// W3C `RTCIceTransportState`.
public enum ICEConnectionState: String, Hashable, Sendable {
    /// Nothing is known of the peer.
    case new
    /// Looking for a pair that works.
    case checking
    /// A pair is selected; candidates may still follow.
    case connected
    /// A pair is selected, and both sides have said all their candidates.
    case completed
    /// The selected pair does not answer just now; it may come back by itself.
    case disconnected
    /// No pair works, or consent has expired. Only a restart helps, of either side's, which leads to `checking`: not
    /// candidates that come late, nor checks of the peer's.
    case failed
    /// Closed by its owner.
    case closed
}

/// W3C `RTCIceGatheringState`.
public enum ICEGatheringState: String, Hashable, Sendable {
    case new, gathering, complete
}
