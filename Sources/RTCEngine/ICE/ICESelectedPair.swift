public import RTCWire

/// Between which two addresses datagrams travel: our socket's own address, and the peer's.
public struct ICERoute: Hashable, Sendable {
    public var base: TransportAddress
    public var remote: TransportAddress

    public init(base: TransportAddress, remote: TransportAddress) {
        self.base = base
        self.remote = remote
    }
}

/// The pair that carries media.
public struct ICESelectedPair: Hashable, Sendable {
    /// Our socket's address and the peer's.
    public var route: ICERoute
    /// Our candidate as the peer sees it; for reflexive ones its address differs from the base.
    public var localCandidate: ICECandidate
    public var remoteCandidate: ICECandidate

    public var base: TransportAddress { route.base }
    public var remote: TransportAddress { route.remote }

    public init(route: ICERoute, localCandidate: ICECandidate, remoteCandidate: ICECandidate) {
        self.route = route
        self.localCandidate = localCandidate
        self.remoteCandidate = remoteCandidate
    }
}
