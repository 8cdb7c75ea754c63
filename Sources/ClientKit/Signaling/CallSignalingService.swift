/// The call room's signaling, as the call's logic sees it.
///
/// One consumer reads `events`; connecting, leaving and connecting again happen on the same value.
public protocol CallSignalingService: Sendable {
    /// Everything that the server says, in order, for the whole life of the service.
    var events: AsyncStream<CallSignalingEvent> { get }

    /// Joins the room; `.connected` comes through `events`, before anything that is said in the room.
    ///
    /// Cancelling the task gives the attempt up. A first attempt that fails throws and is not repeated;
    /// a connection lost later is repeated by the service itself (`.connectionLost`, then `.reconnected`).
    func connect(as identity: CallIdentity) async throws(CallSignalingError)

    /// Leaves the room. Harmless when not connected. Puts nothing into `events`.
    func disconnect() async

    /// Sends to everybody else in the room. Throws when there is no connection at this moment.
    func send(_ signal: CallSignal) async throws(CallSignalingError)
}

/// What one side of a call tells the other.
public enum CallSignal: Hashable, Sendable {
    /// The caller's description, or a later one of either side.
    case offer(SessionDescriptionPayload)
    /// The description that answers the last offer.
    case answer(SessionDescriptionPayload)
    /// One candidate, or the end of them.
    case candidate(IceCandidatePayload)
}

/// What the signaling service reports.
public enum CallSignalingEvent: Hashable, Sendable {
    /// The room has been joined. Nothing is known yet about who else is there.
    case connected
    /// Everybody else in the room, from servers that tell a newcomer; from now on presence is certain.
    case roster([CallParticipant])
    /// Somebody joined, or (from servers that tell a newcomer) was there already.
    case peerJoined(CallParticipant)
    /// Somebody left. The protocol gives the name only.
    case peerLeft(username: String)
    /// Somebody calls, or wants the call changed.
    case offer(SessionDescriptionPayload)
    /// Somebody answers our offer.
    case answer(SessionDescriptionPayload)
    /// A candidate, or the end of candidates.
    case candidate(IceCandidatePayload)
    /// A message that could not be read or passed on; `detail` is a sentence.
    case unreadable(detail: String)
    /// The connection broke and is being repaired.
    case connectionLost(reason: String)
    /// The connection is back; the room has been joined again, and what happened meanwhile is unknown.
    case reconnected
    /// The connection is gone for good.
    case closed(reason: String)
}

/// Why the signaling could not do what it was asked.
public enum CallSignalingError: Error, Hashable, Sendable {
    /// There is no connection to send over.
    case notConnected
    /// The address cannot be a signaling server's.
    case invalidServer(String)
    /// No connection could be made; the detail names the address and the cause.
    case unreachable(String)
    /// The server answered and said no.
    case refused(String)
    /// Given up by the user.
    case cancelled

    /// One sentence for people.
    public var sentence: String {
        switch self {
        case .notConnected: "You are not connected to the signaling server."
        case .invalidServer(let address):
            "\(address) is not the address of a signaling server; one looks like http://localhost:3000."
        case .unreachable(let detail): "The signaling server cannot be reached: \(detail)."
        case .refused(let detail): "The signaling server refused the connection: \(detail)."
        case .cancelled: "The connection attempt was cancelled."
        }
    }
}
