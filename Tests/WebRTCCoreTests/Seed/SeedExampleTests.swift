import Testing

#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
    import ComposableArchitectureStandInTesting
#endif
@testable import WebRTCCore

// The package's promised example test, letter for letter; only its imports name the stand-in too.
@MainActor
struct MyWebRTCTests {
    @Test
    func handleRemoteOffer_automaticallyCreatesConnectionAndSendsAnswer() async {
        let mockOffer = WebRTCOffer(
            sdp: "mock-offer-sdp",
            type: "offer",
            from: "user123",
            to: "current-user",
            videoSource: "camera"
        )
        let mockAnswer = WebRTCAnswer(
            sdp: "mock-answer-sdp",
            type: "answer",
            from: "current-user",
            to: "user123",
            videoSource: "camera"
        )

        let store = TestStore(initialState: WebRTCFeature.State()) {
            WebRTCFeature()
        } withDependencies: {
            $0.webRTCEngine.setRemoteOffer = { _ in mockAnswer }
        }

        await store.send(\.view, .handleRemoteOffer(mockOffer))
        await store.receive(.remoteOfferHandled("user123", mockAnswer)) {
            $0.connectedPeers = [
                WebRTCFeature.PeerState(id: "user123", connectionState: .connecting)
            ]
        }
        await store.receive(\.delegate, .answerGenerated(sdp: "mock-answer-sdp", userId: "user123"))
    }
}
