public import RTCWire

/// What an agent wants done or has to tell.
public enum ICEOutput: Hashable, Sendable {
    /// Send this datagram from the socket bound at `from`.
    case send([UInt8], from: TransportAddress, to: TransportAddress)
    /// A candidate to tell the peer about.
    case localCandidate(ICECandidate)
    case gatheringStateChanged(ICEGatheringState)
    /// A STUN server has answered from none of our addresses in the time that it had.
    case serverSilent(TransportAddress)
    /// The reason is for a log: it never holds an address or a credential.
    case connectionStateChanged(ICEConnectionState, because: String)
    /// Media goes over this pair from now on.
    case selectedPairChanged(ICESelectedPair)
    /// No address of ours is left: descriptions are to be exchanged again as soon as there is one.
    case restartNeeded
    /// Look this name up by multicast DNS, and tell `nameResolved`.
    case resolveName(String)
    /// A conflict of roles was settled against what we had, or the peer turned out to be lite.
    case roleChanged(ICERole)
}
