#if os(Linux)
    internal import ClientKit
    internal import ComposableArchitectureStandIn
    internal import WebRTCCore

    /// Joins the room's signaling to `WebRTCFeature`: messages become offers and candidates of named peers, and what
    /// the feature tells becomes messages.
    struct WatchFeature: Reducer {
        struct State: Sendable {
            var webRTC = WebRTCFeature.State()
            let username: String
            var senders: CallRoomSenders

            init(username: String) {
                self.username = username
                senders = CallRoomSenders(us: username)
            }
        }

        enum Action: Sendable {
            case webRTC(WebRTCFeature.Action)
            case signaling(CallSignalingEvent)
        }

        /// Sends in the order of its calls.
        let send: @Sendable (CallSignal) -> Void
        let sink: WatchSink

        var body: some Reducer<State, Action> {
            Scope(state: \.webRTC, action: \.webRTC) { WebRTCFeature() }
            Reduce { state, action in
                switch action {
                case .signaling(let event): return heard(event, &state)
                case .webRTC(.delegate(let told)): return act(on: told, &state)
                case .webRTC: return .none
                }
            }
        }

        private func heard(_ event: CallSignalingEvent, _ state: inout State) -> Effect<Action> {
            switch event {
            case .peerJoined(let participant):
                state.senders.joined(participant)
                return .none
            case .roster(let participants):
                state.senders.present(participants)
                return .none
            case .peerLeft(let username):
                guard state.senders.left(username), state.webRTC.connectedPeers[id: username] != nil else {
                    return .none
                }
                return .send(.webRTC(.view(.disconnectPeer(username))))
            case .offer(let offer):
                guard let sender = state.senders.sender(of: offer) else { return .none }
                return .send(
                    .webRTC(
                        .view(
                            .handleRemoteOffer(
                                WebRTCOffer(
                                    sdp: offer.sdp, type: "offer", from: sender, to: state.username, videoSource: ""))))
                )
            case .candidate(let candidate):
                guard let sender = state.senders.sender(of: candidate) else { return .none }
                return .send(
                    .webRTC(
                        .view(
                            .handleICECandidate(
                                ICECandidate(
                                    type: "ice", from: sender, to: state.username,
                                    candidate: ICECandidate.Candidate(
                                        candidate: candidate.candidate, sdpMLineIndex: candidate.sdpMLineIndex ?? 0,
                                        sdpMid: candidate.sdpMid))))))
            case .answer, .connected, .unreadable, .connectionLost, .reconnected, .closed:
                return .none
            }
        }

        private func act(on told: WebRTCFeature.Action.Delegate, _ state: inout State) -> Effect<Action> {
            switch told {
            case .answerGenerated(let sdp, let userId):
                send(.answer(state.senders.answer(sdp, to: userId)))
                return .none
            case .iceCandidateGenerated(let candidate, let index, let mid, let userId):
                let candidate = IceCandidatePayload(candidate: candidate, sdpMid: mid, sdpMLineIndex: index)
                send(.candidate(state.senders.addressed(candidate, to: userId)))
                return .none
            case .videoTrackAdded(let info): return record(info.track, of: info.connection)
            case .audioTrackAdded(let info): return record(info.track, of: info.connection)
            case .connectionStateChanged(let userId, .closed):
                state.senders.forget(userId)
                return .none
            case .connectionStateChanged, .videoTrackRemoved, .audioTrackRemoved: return .none
            }
        }

        /// Until the track ends.
        private func record(_ track: RemoteTrack, of connection: WebRTCConnectionID) -> Effect<Action> {
            let frames = track.frames
            return .run { [sink] _ in
                await sink.trackBegan(connection)
                for await frame in frames { await sink.receive(frame, of: connection) }
                await sink.trackEnded(connection)
            }
        }
    }

    extension WatchFeature.State: ObservableState {
        var _$id: ObservableStateID { webRTC._$id }
        mutating func _$willModify() { webRTC._$willModify() }
    }

    extension WatchFeature.Action: CasePathable {
        struct AllCasePaths: Sendable {
            var webRTC: AnyCasePath<WatchFeature.Action, WebRTCFeature.Action> {
                AnyCasePath(
                    embed: { .webRTC($0) }, extract: { if case .webRTC(let action) = $0 { action } else { nil } })
            }
        }

        static var allCasePaths: AllCasePaths { AllCasePaths() }
    }
#endif
