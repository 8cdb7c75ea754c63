/// What receives. `ReceivingEngine` over one of two kinds of connection: Roost's own, or libwebrtc's.
protocol WebRTCEngine: Sendable {
    /// What happens with all peers, in one stream. Each call gives a stream of its own.
    func events() async -> AsyncStream<WebRTCEvent>
    /// Makes the connection, or changes it, and the answer.
    func setRemoteOffer(_ offer: WebRTCOffer) async throws(WebRTCError) -> WebRTCAnswer
    /// Takes a candidate, also before its offer.
    func addIceCandidate(_ candidate: ICECandidate) async throws(WebRTCError)
    /// Ends a peer's connection and frees it; harmless where there is none.
    func disconnect(_ userId: String) async
}

/// One connection to one peer that only receives: what the two engines differ in.
protocol ReceivingConnection: AnyObject, Sendable {
    /// What happens, in order, for one listener; ends when the connection is closed. What happens before somebody
    /// listens is kept.
    var happenings: AsyncStream<ConnectionHappening> { get }
    /// Takes the peer's offer and answers it: media is received, nothing is sent, data channels are refused. When it
    /// throws, nothing has changed.
    func answer(_ offer: String) async throws(Refusal) -> String
    /// Our last answer, with the candidates known by now.
    func presentAnswer() async -> String?
    func add(_ candidate: ICECandidate.Candidate) async throws(Refusal)
    func close() async
}

/// What happens on one connection; it knows no names. Unchecked for the reason that `VideoTrackInfo` gives.
enum ConnectionHappening: @unchecked Sendable {
    case state(WebRTCConnectionState, because: String)
    case candidate(ICECandidate.Candidate)
    case videoAdded(id: String, WebRTCVideoTrack)
    case videoRemoved(id: String, WebRTCVideoTrack)
    case audioAdded(id: String, WebRTCAudioTrack)
    case audioRemoved(id: String, WebRTCAudioTrack)
}
