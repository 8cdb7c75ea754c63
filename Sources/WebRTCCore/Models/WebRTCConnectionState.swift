/// Whether media of a peer can arrive (W3C: RTCPeerConnectionState).
public enum WebRTCConnectionState: String, Hashable, Sendable, CaseIterable {
    /// Nothing has been exchanged yet.
    case new
    /// The answer is made; a path is being looked for.
    case connecting
    /// Media flows.
    case connected
    /// The path is lost and may come back by itself.
    case disconnected
    /// No path is left. A new offer of the peer's may repair it.
    case failed
    /// It is over, and everything is freed.
    case closed
}
