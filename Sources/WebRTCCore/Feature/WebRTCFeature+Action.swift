#if canImport(ComposableArchitecture)
    public import ComposableArchitecture
#else
    public import ComposableArchitectureStandIn
#endif

extension WebRTCFeature {
    public enum Action: Equatable, Sendable {
        /// What the app, or its view, says.
        case view(ViewAction)
        /// What the app is to act on. The feature ignores it.
        case delegate(Delegate)
        /// An offer was answered.
        case remoteOfferHandled(String, WebRTCAnswer)
        /// The engine tells something.
        case webRTCEvent(WebRTCEvent)
        /// The engine's stream ended.
        case listeningEnded
        /// An offer or candidate could not be used.
        case failed(WebRTCError)

        public enum ViewAction: Equatable, Sendable {
            /// The view appeared: listen. Again does nothing more.
            case task
            /// The signaling brought an offer. It is answered by itself.
            case handleRemoteOffer(WebRTCOffer)
            /// The signaling brought a candidate, also before its offer.
            case handleICECandidate(ICECandidate)
            /// Whom not to receive any more.
            case disconnectPeer(String)
            /// The error was read.
            case dismissError
        }

        public enum Delegate: Equatable, Sendable {
            /// Send this answer to the peer.
            case answerGenerated(sdp: String, userId: String)
            /// Send this candidate to the peer; an empty one says that there are no more
            /// (`WebRTCEvent.iceCandidateGenerated`).
            case iceCandidateGenerated(candidate: String, sdpMLineIndex: Int, sdpMid: String?, userId: String)
            /// Pictures can be shown.
            case videoTrackAdded(VideoTrackInfo)
            case videoTrackRemoved(VideoTrackInfo)
            /// Sound can be heard.
            case audioTrackAdded(AudioTrackInfo)
            case audioTrackRemoved(AudioTrackInfo)
            /// A peer connects, is lost, or is gone (`closed`).
            case connectionStateChanged(userId: String, state: ConnectionState)
        }
    }
}

// What the macro `@CasePathable` would write; by hand, so that the package builds without macros.
extension WebRTCFeature.Action: CasePathable {
    public struct AllCasePaths: Sendable {
        public var view: AnyCasePath<WebRTCFeature.Action, ViewAction> {
            AnyCasePath(embed: { .view($0) }, extract: { if case .view(let action) = $0 { action } else { nil } })
        }

        public var delegate: AnyCasePath<WebRTCFeature.Action, Delegate> {
            AnyCasePath(
                embed: { .delegate($0) }, extract: { if case .delegate(let action) = $0 { action } else { nil } })
        }

        public var remoteOfferHandled: AnyCasePath<WebRTCFeature.Action, (String, WebRTCAnswer)> {
            AnyCasePath(
                embed: { .remoteOfferHandled($0.0, $0.1) },
                extract: { if case .remoteOfferHandled(let user, let answer) = $0 { (user, answer) } else { nil } })
        }

        public var webRTCEvent: AnyCasePath<WebRTCFeature.Action, WebRTCEvent> {
            AnyCasePath(
                embed: { .webRTCEvent($0) },
                extract: { if case .webRTCEvent(let event) = $0 { event } else { nil } })
        }

        public var listeningEnded: AnyCasePath<WebRTCFeature.Action, Void> {
            AnyCasePath(
                embed: { .listeningEnded }, extract: { if case .listeningEnded = $0 { () } else { nil } })
        }

        public var failed: AnyCasePath<WebRTCFeature.Action, WebRTCError> {
            AnyCasePath(
                embed: { .failed($0) }, extract: { if case .failed(let error) = $0 { error } else { nil } })
        }
    }

    public static var allCasePaths: AllCasePaths { AllCasePaths() }
}
