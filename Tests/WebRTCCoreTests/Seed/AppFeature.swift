#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
#endif
import WebRTCCore

// 1. Add to your parent feature's state
struct AppFeature: Reducer {
    struct State {
        var webRTC = WebRTCFeature.State()
    }

    enum Action {
        case webRTC(WebRTCFeature.Action)
        case signalingMessage(SignalingMessage)  // Your signaling system
    }

    var body: some ReducerOf<Self> {
        Scope(state: \.webRTC, action: \.webRTC) {
            WebRTCFeature()
        }
        Reduce { state, action in
            switch action {
            // Auto-generated answer from WebRTC - send to signaling server
            case let .webRTC(.delegate(.answerGenerated(sdp, userId))):
                let answer = WebRTCAnswer(sdp: sdp, type: "answer", from: "current-user", to: userId, videoSource: "")
                return sendToSignalingServer(answer, userId: userId)

            // ICE candidate generated - send to signaling server
            case let .webRTC(.delegate(.iceCandidateGenerated(candidate, sdpMLineIndex, sdpMid, userId))):
                let iceCandidate = ICECandidate(
                    type: "ice", from: "current-user", to: userId,
                    candidate: ICECandidate.Candidate(
                        candidate: candidate, sdpMLineIndex: sdpMLineIndex, sdpMid: sdpMid
                    )
                )
                return sendToSignalingServer(iceCandidate, userId: userId)

            // Video track added - display in UI
            case let .webRTC(.delegate(.videoTrackAdded(trackInfo))):
                print("📺 Video track added for user: \(trackInfo.userId)")
                return .none

            // Handle incoming signaling messages
            case let .signalingMessage(.offer(offer)):
                // Automatically handle offer and generate answer
                return .send(.webRTC(.view(.handleRemoteOffer(offer))))

            case let .signalingMessage(.iceCandidate(candidate)):
                return .send(.webRTC(.view(.handleICECandidate(candidate))))

            default:
                return .none
            }
        }
    }
}
