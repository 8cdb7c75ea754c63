/// What an app may ask of WebRTC: receive from peers whose offers and candidates its own signaling brings.
///
/// A struct of closures, so that a test replaces just what it needs. In a reducer: `@Dependency(\.webRTCEngine)`.
public struct WebRTCDependency: Sendable {
    /// What happens by itself, with all peers, in one stream.
    ///
    /// Each call gives a stream of its own, from now on: listeners do not take events from each other. What happens
    /// while nobody listens is kept (1,024 events, then the oldest give way) for whoever listens next. A stream ends
    /// when its listener stops.
    public var events: @Sendable () async -> AsyncStream<WebRTCEvent>

    /// Answers an offer: makes the peer's connection, or changes it when the offer is a later one of the same call. The
    /// answer receives pictures and sound; sending and data channels are refused. A refused offer changes nothing.
    public var setRemoteOffer: @Sendable (_ offer: WebRTCOffer) async throws(WebRTCError) -> WebRTCAnswer

    /// Hands in a candidate of a peer's. One that comes before its offer is kept for it: 64 a peer, for 64 peers.
    public var addIceCandidate: @Sendable (_ candidate: ICECandidate) async throws(WebRTCError) -> Void

    /// Ends a peer's connection and frees everything of it. No event follows. Harmless where there is none.
    public var disconnect: @Sendable (_ userId: String) async -> Void

    public init(
        events: @escaping @Sendable () async -> AsyncStream<WebRTCEvent>,
        setRemoteOffer: @escaping @Sendable (_ offer: WebRTCOffer) async throws(WebRTCError) -> WebRTCAnswer,
        addIceCandidate: @escaping @Sendable (_ candidate: ICECandidate) async throws(WebRTCError) -> Void,
        disconnect: @escaping @Sendable (_ userId: String) async -> Void
    ) {
        self.events = events
        self.setRemoteOffer = setRemoteOffer
        self.addIceCandidate = addIceCandidate
        self.disconnect = disconnect
    }

    init(engine: some WebRTCEngine) {
        self.init(
            events: { await engine.events() },
            setRemoteOffer: { (offer) async throws(WebRTCError) in try await engine.setRemoteOffer(offer) },
            addIceCandidate: { (candidate) async throws(WebRTCError) in try await engine.addIceCandidate(candidate) },
            disconnect: { userId in await engine.disconnect(userId) })
    }
}
