import Testing

#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
    import ComposableArchitectureStandInTesting
#endif
@testable import WebRTCCore

@MainActor
@Suite(.timeLimit(.minutes(5))) struct TrackTests {
    @Test func `tracks come and go`() async {
        let connection = WebRTCConnectionID(userId: "Ann", session: "1")
        let track = RemoteTrack(id: "1", frames: { AsyncStream { $0.finish() } })
        let video = VideoTrackInfo(id: "1", connection: connection, track: track)
        let audio = AudioTrackInfo(id: "2", connection: connection, track: track)
        let peer = WebRTCFeature.PeerState(id: "Ann", connectionState: .connected, connection: connection)
        let store = TestStore(initialState: WebRTCFeature.State(connectedPeers: [peer])) { WebRTCFeature() }
        await store.send(.webRTCEvent(.videoTrackAdded(video))) { $0.connectedPeers[id: "Ann"]?.videoTracks = [video] }
        await store.receive(\.delegate, .videoTrackAdded(video))
        await store.send(.webRTCEvent(.audioTrackAdded(audio))) { $0.connectedPeers[id: "Ann"]?.audioTracks = [audio] }
        await store.receive(\.delegate, .audioTrackAdded(audio))
        await store.send(.webRTCEvent(.videoTrackRemoved(video))) { $0.connectedPeers[id: "Ann"]?.videoTracks = [] }
        await store.receive(\.delegate, .videoTrackRemoved(video))
        await store.send(.webRTCEvent(.audioTrackRemoved(audio))) { $0.connectedPeers[id: "Ann"]?.audioTracks = [] }
        await store.receive(\.delegate, .audioTrackRemoved(audio))
    }
}
