/// What the engine tells by itself. All of it comes in one stream, in the order in which it happened.
public enum WebRTCEvent: Hashable, Sendable {
    /// `because` is a sentence for a log; it names no address.
    case connectionStateChanged(WebRTCConnectionState, connection: WebRTCConnectionID, because: String)
    /// A candidate of ours to send to the peer; an empty one says that there are no more, which libwebrtc's never
    /// are: it goes on gathering, as networks come and go.
    case iceCandidateGenerated(ICECandidate.Candidate, connection: WebRTCConnectionID)
    /// The peer sends pictures from now on.
    case videoTrackAdded(VideoTrackInfo)
    /// The peer has stopped sending these pictures.
    case videoTrackRemoved(VideoTrackInfo)
    /// The peer sends sound from now on.
    case audioTrackAdded(AudioTrackInfo)
    /// The peer has stopped sending this sound.
    case audioTrackRemoved(AudioTrackInfo)
    /// Something of this peer's could not be used. Its connection and the others go on.
    case errorOccurred(WebRTCError, connection: WebRTCConnectionID)

    /// What it is about.
    public var connection: WebRTCConnectionID {
        switch self {
        case .connectionStateChanged(_, let connection, _), .iceCandidateGenerated(_, let connection),
            .errorOccurred(_, let connection):
            connection
        case .videoTrackAdded(let info), .videoTrackRemoved(let info): info.connection
        case .audioTrackAdded(let info), .audioTrackRemoved(let info): info.connection
        }
    }
}
