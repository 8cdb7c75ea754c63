public import RTCWire

/// What an agent wants done or has to tell.
public enum ICEOutput: Hashable, Sendable {
    /// Send this datagram from the socket bound at `from`.
    case send([UInt8], from: TransportAddress, to: TransportAddress)
    /// A candidate to tell the peer about.
    case localCandidate(ICECandidate)
    case gatheringStateChanged(ICEGatheringState)
    /// The reason is for a log: it never holds an address or a credential.
    case connectionStateChanged(ICEConnectionState, because: String)
    /// Media goes over this pair from now on.
    case selectedPairChanged(ICESelectedPair)
    /// A conflict of roles was settled against what we had, or the peer turned out to be lite.
    case roleChanged(ICERole)
}
