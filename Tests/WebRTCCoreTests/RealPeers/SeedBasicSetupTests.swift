import Foundation
import Observation
import RTCEngine
import RTCNetwork
import Testing

#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
#endif
@testable import WebRTCCore

/// The promised "Basic Setup" and "Complete Flow Example", driven by a real sender.
@MainActor
@Suite(.timeLimit(.minutes(5))) struct SeedBasicSetupTests {
    @Test func `an app made after the example receives a sender's frames`() async throws {
        let sender = try TestSender("Ann")
        let (messages, sent) = AsyncStream.makeStream(of: SignalingMessage.self)
        let engine = WebRTCDependency.live(configuration: try TestSender.configuration())
        let store = Store(initialState: AppFeature.State()) {
            AppFeature()
        } withDependencies: {
            $0.webRTCEngine = engine
            $0.signalingServer = SignalingServer { message, userId in
                #expect(userId == "Ann")
                sent.yield(message)
            }
        }
        let events = EventLog(await engine.events())

        // 1. Start WebRTC
        let listening = store.send(.webRTC(.view(.task)))
        #expect(store.webRTC.isListening)

        // 2. When you receive an offer from signaling server
        store.send(.signalingMessage(.offer(try await sender.offer(adding: [.video]))))

        // 3. WebRTC automatically generates answer - send it back via signaling
        for await message in messages {
            guard case .answer(let answer) = message else { continue }
            #expect(answer.from == "current-user" && answer.to == "Ann" && answer.type == "answer")
            try await sender.accept(answer)
            break
        }
        #expect(store.webRTC.connectedPeers.count == 1)

        // 4. When you receive ICE candidates from signaling server
        let candidate = ICECandidate(
            type: "ice", from: "Ann", to: "current-user",
            candidate: ICECandidate.Candidate(candidate: "", sdpMLineIndex: 0, sdpMid: "0"))
        store.send(.signalingMessage(.iceCandidate(candidate)))

        // 5. Video tracks are automatically added to state and delegate events fired
        await sender.reached(.connected)
        #expect(await events.reached(.connected, by: "Ann") != nil)
        try await sender.sendVideo()
        let track = await shown(by: store)
        #expect(await track.next(5).first?.isKeyFrame == true)

        store.send(.webRTC(.view(.disconnectPeer("Ann"))))
        #expect(store.webRTC.connectedPeers.isEmpty)
        listening.cancel()
        await sender.reached(.closed)
        #expect(store.webRTC.error?.localizedDescription == nil)
    }

    /// What the example's view shows, once there is something.
    private func shown(by store: StoreOf<AppFeature>) async -> WebRTCVideoTrack {
        while true {
            let (changed, change) = AsyncStream.makeStream(of: Void.self)
            let peer = withObservationTracking {
                store.webRTC.connectedPeers.first
            } onChange: {
                change.yield()
            }
            if let track = peer?.videoTrack?.track { return track }
            for await _ in changed { break }
        }
    }
}
