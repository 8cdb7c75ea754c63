#if canImport(ComposableArchitecture)
    public import ComposableArchitecture
#else
    public import ComposableArchitectureStandIn
#endif

extension WebRTCFeature {
    /// What is sent to the feature and what it sends. An app sends `view` actions and acts on `delegate` actions; the
    /// others are the feature's own.
    public enum Action: Equatable, Sendable {
        /// What the app, or its view, says.
        case view(ViewAction)
        /// What the app is to act on. The feature ignores it.
        case delegate(Delegate)
        /// An offer of the named peer was answered.
        case remoteOfferHandled(String, WebRTCAnswer)
        /// The engine tells something.
        case webRTCEvent(WebRTCEvent)
        /// The engine's stream ended.
        case listeningEnded
        /// An offer or candidate could not be used.
        case failed(WebRTCError)

        /// What the app sends.
        public enum ViewAction: Equatable, Sendable {
            /// The view appeared: listen to the engine, until the view's task is cancelled. While it listens already,
            /// this does nothing.
            case task
            /// The signaling brought an offer. It is answered by itself: `Delegate.answerGenerated` has the answer;
            /// what goes wrong is in `State.error`.
            case handleRemoteOffer(WebRTCOffer)
            /// The signaling brought a candidate. It may come before its offer, and is kept for it then.
            case handleICECandidate(ICECandidate)
            /// Ends the connection to the peer of this name, which leaves the state at once. Then
            /// `Delegate.connectionStateChanged` says `closed`, if the peer was in the state.
            case disconnectPeer(String)
            /// The error was read: `State.error` becomes nil.
            case dismissError
        }

        /// What the app is to act on, in the order in which it happened.
        public enum Delegate: Equatable, Sendable {
            /// Send this answer to the peer.
            case answerGenerated(sdp: String, userId: String)
            /// Send this candidate to the peer; an empty one says that there are no more
            /// (`WebRTCEvent.iceCandidateGenerated`).
            case iceCandidateGenerated(candidate: String, sdpMLineIndex: Int, sdpMid: String?, userId: String)
            /// The peer sends pictures from now on, which can be shown.
            case videoTrackAdded(VideoTrackInfo)
            /// The peer has stopped sending these pictures. When the whole connection ends, this need not come:
            /// `closed` stands for all its tracks.
            case videoTrackRemoved(VideoTrackInfo)
            /// The peer sends sound from now on, which can be heard.
            case audioTrackAdded(AudioTrackInfo)
            /// The peer has stopped sending this sound. When the whole connection ends, this need not come: `closed`
            /// stands for all its tracks.
            case audioTrackRemoved(AudioTrackInfo)
            /// The connection to a peer is in another state now. With `closed` the peer has left the state.
            case connectionStateChanged(userId: String, state: ConnectionState)
        }
    }
}

// What the macro `@CasePathable` would write; by hand, so that the package builds without macros.
extension WebRTCFeature.Action: CasePathable {
    /// A case path for each case that a parent or a test takes values out of.
    public struct AllCasePaths: Sendable {
        /// Of `Action.view`.
        public var view: AnyCasePath<WebRTCFeature.Action, ViewAction> {
            AnyCasePath(embed: { .view($0) }, extract: { if case .view(let action) = $0 { action } else { nil } })
        }

        /// Of `Action.delegate`.
        public var delegate: AnyCasePath<WebRTCFeature.Action, Delegate> {
            AnyCasePath(
                embed: { .delegate($0) }, extract: { if case .delegate(let action) = $0 { action } else { nil } })
        }

        /// Of `Action.remoteOfferHandled`.
        public var remoteOfferHandled: AnyCasePath<WebRTCFeature.Action, (String, WebRTCAnswer)> {
            AnyCasePath(
                embed: { .remoteOfferHandled($0.0, $0.1) },
                extract: { if case .remoteOfferHandled(let user, let answer) = $0 { (user, answer) } else { nil } })
        }

        /// Of `Action.webRTCEvent`.
        public var webRTCEvent: AnyCasePath<WebRTCFeature.Action, WebRTCEvent> {
            AnyCasePath(
                embed: { .webRTCEvent($0) },
                extract: { if case .webRTCEvent(let event) = $0 { event } else { nil } })
        }

        /// Of `Action.listeningEnded`.
        public var listeningEnded: AnyCasePath<WebRTCFeature.Action, Void> {
            AnyCasePath(
                embed: { .listeningEnded }, extract: { if case .listeningEnded = $0 { () } else { nil } })
        }

        /// Of `Action.failed`.
        public var failed: AnyCasePath<WebRTCFeature.Action, WebRTCError> {
            AnyCasePath(
                embed: { .failed($0) }, extract: { if case .failed(let error) = $0 { error } else { nil } })
        }
    }

    /// What `\.view` and the others are looked up in.
    public static var allCasePaths: AllCasePaths { AllCasePaths() }
}
