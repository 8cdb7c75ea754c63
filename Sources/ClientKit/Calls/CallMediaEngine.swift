/// Makes the media side of calls: Roost's own peer connection on Linux, libwebrtc on Apple platforms.
public protocol CallMediaEngine: Sendable {
    /// Opens camera and microphone (or their stand-ins) and a peer connection that sends them and receives both kinds.
    ///
    /// Throws `CallMediaError.unavailable` with a sentence for people when that cannot be had.
    func makeSession() async throws(CallMediaError) -> any CallMediaSession
}

/// The media of one call.
///
/// Calls come one after the other, except `close()`, which may come at any moment and ends the others.
/// After `close()` everything throws `.closed`, and `events` ends.
public protocol CallMediaSession: Sendable {
    /// Everything that happens to the media, in order; one consumer.
    var events: AsyncStream<CallMediaEvent> { get }

    /// What a view needs to show the own picture; nil when there is none.
    var localVideo: VideoSurface? { get async }

    /// What a view needs to show the partner's picture; nil until a `.remoteTrack` of kind video came.
    var remoteVideo: VideoSurface? { get async }

    /// Makes an offer and applies it as the local description.
    func createOffer() async throws(CallMediaError) -> SessionDescriptionPayload

    /// Applies a remote offer, makes the answer and applies it.
    ///
    /// An own offer that is still unanswered is rolled back first (RFC 8829 §4.1.10.2).
    func createAnswer(to offer: SessionDescriptionPayload) async throws(CallMediaError) -> SessionDescriptionPayload

    /// Applies the answer to the last own offer.
    func setRemoteAnswer(_ answer: SessionDescriptionPayload) async throws(CallMediaError)

    /// Adds a candidate of the partner's, or (an empty one) their end. Comes only after a remote description.
    /// One that cannot be used throws; the call goes on without it.
    func addRemoteCandidate(_ candidate: IceCandidatePayload) async throws(CallMediaError)

    /// The next `createOffer` carries new ICE credentials (RFC 8829 §5.2.3.1).
    func restartIce() async throws(CallMediaError)

    /// Sends the microphone's sound or silence.
    func setMicrophone(enabled: Bool) async

    /// Sends the camera's picture or none.
    func setCamera(enabled: Bool) async

    /// Ends the media and lets go of camera and microphone. More than one call does no harm.
    func close() async
}

/// Something a view can show. The view asks the engine's adapter for the picture behind the id.
public struct VideoSurface: Hashable, Sendable, Identifiable {
    /// Given by the engine; means something to its adapter only.
    public let id: String

    public init(id: String) {
        self.id = id
    }
}

/// The two kinds of media in a call.
public enum CallTrackKind: String, Hashable, Sendable {
    case audio
    case video
}

/// The media connection as a whole, with W3C's names (`RTCPeerConnectionState`).
public enum CallMediaConnectionState: String, Hashable, Sendable {
    case new
    case connecting
    case connected
    case disconnected
    case failed
    case closed
}

/// What happens to the media of a call.
public enum CallMediaEvent: Hashable, Sendable {
    /// A candidate of ours for the partner; an empty one ends them.
    case localCandidate(IceCandidatePayload)
    /// Whether media flows.
    case connectionState(CallMediaConnectionState)
    /// The partner's track arrived.
    case remoteTrack(kind: CallTrackKind, id: String)
    /// How the call is doing, about once a second.
    case statistics(CallStatistics)
    /// An offer is needed. As in W3C (§4.7.3 of WebRTC 1.0), one that is not made because an exchange is under way
    /// is asked for again afterwards if still needed.
    case negotiationNeeded
}

/// Why the media could not do what it was asked.
public enum CallMediaError: Error, Hashable, Sendable {
    /// There is no camera, no microphone, no permission or no socket; the detail is a sentence for people.
    case unavailable(String)
    /// A description or candidate was not accepted.
    case rejected(String)
    /// The session is closed.
    case closed

    /// One sentence for people.
    public var sentence: String {
        switch self {
        case .unavailable(let sentence): sentence
        case .rejected(let detail): "The call could not be agreed on: \(detail.hasSuffix(".") ? detail : detail + ".")"
        case .closed: "The call is already closed."
        }
    }
}
