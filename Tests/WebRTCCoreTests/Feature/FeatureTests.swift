import Testing

#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
    import ComposableArchitectureStandInTesting
#endif
@testable import WebRTCCore

/// The reducer alone: every change and every action is asserted.
@MainActor
@Suite(.timeLimit(.minutes(5))) struct FeatureTests {
    private let connection = WebRTCConnectionID(userId: "Ann", session: "1")
    private let answer = Self.answer(session: "1")

    private static func offer(from userId: String = "Ann") -> WebRTCOffer {
        WebRTCOffer(sdp: "v=0", type: "offer", from: userId, to: "watcher", videoSource: "camera")
    }

    private static func answer(session: String) -> WebRTCAnswer {
        WebRTCAnswer(to: offer(), sdp: "v=0\r\no=- \(session) 1 IN IP4 0.0.0.0\r\n")
    }

    private func candidate(_ number: Int) -> ICECandidate.Candidate {
        ICECandidate.Candidate(candidate: "candidate:\(number)", sdpMLineIndex: 0, sdpMid: "0")
    }

    private func peer(
        _ connectionState: WebRTCConnectionState, of connection: WebRTCConnectionID? = nil
    ) -> WebRTCFeature.PeerState {
        let connection = connection ?? self.connection
        return .init(id: connection.userId, connectionState: connectionState, connection: connection)
    }

    private func store(
        peers: [WebRTCFeature.PeerState] = [], _ prepare: (inout WebRTCDependency) -> Void = { _ in }
    ) -> TestStoreOf<WebRTCFeature> {
        TestStore(initialState: WebRTCFeature.State(connectedPeers: IdentifiedArray(uniqueElements: peers))) {
            WebRTCFeature()
        } withDependencies: {
            prepare(&$0.webRTCEngine)
        }
    }

    // MARK: Listening

    @Test func `a view that appears twice listens once, and again after the end`() async {
        let (stream, continuation) = AsyncStream.makeStream(of: WebRTCEvent.self)
        let streams = Streams([stream, AsyncStream { $0.finish() }])
        let store = store { $0.events = { await streams.next() } }
        await store.send(\.view, .task) { $0.isListening = true }
        await store.send(\.view, .task)
        continuation.finish()
        await store.receive(.listeningEnded) { $0.isListening = false }
        await store.send(\.view, .task) { $0.isListening = true }
        await store.receive(.listeningEnded) { $0.isListening = false }
        #expect(await streams.taken == 2)
    }

    @Test func `a view that went away and comes back listens again`() async {
        let (stream, continuation) = AsyncStream.makeStream(of: WebRTCEvent.self)
        let streams = Streams([stream, AsyncStream { $0.finish() }])
        let store = store { $0.events = { await streams.next() } }
        let listening = await store.send(\.view, .task) { $0.isListening = true }
        await listening.cancel()
        await store.receive(.listeningEnded) { $0.isListening = false }
        await store.send(\.view, .task) { $0.isListening = true }
        await store.receive(.listeningEnded) { $0.isListening = false }
        #expect(await streams.taken == 2)
        continuation.finish()
    }

    // MARK: Offers

    @Test func `a refused offer is told in the state until it is dismissed`() async {
        let error = WebRTCError.offerRefused(userId: "Ann", reason: "It is none.")
        let store = store { $0.setRemoteOffer = { (_) async throws(WebRTCError) in throw error } }
        await store.send(\.view, .handleRemoteOffer(Self.offer()))
        await store.receive(.failed(error)) { $0.error = error }
        await store.send(\.view, .dismissError) { $0.error = nil }
    }

    @Test func `a later offer of the same call keeps the peer as it is`() async {
        let answer = answer
        let store = store(peers: [peer(.connected)]) { $0.setRemoteOffer = { _ in answer } }
        await store.send(\.view, .handleRemoteOffer(Self.offer()))
        await store.receive(.remoteOfferHandled("Ann", answer))
        await store.receive(\.delegate, .answerGenerated(sdp: answer.sdp, userId: "Ann"))
    }

    @Test func `a new call of the same peer begins anew`() async {
        let answer = Self.answer(session: "2")
        let store = store(peers: [peer(.connected)]) { $0.setRemoteOffer = { _ in answer } }
        await store.send(\.view, .handleRemoteOffer(Self.offer()))
        await store.receive(.remoteOfferHandled("Ann", answer)) {
            $0.connectedPeers = [self.peer(.connecting, of: WebRTCConnectionID(userId: "Ann", session: "2"))]
        }
        await store.receive(\.delegate, .answerGenerated(sdp: answer.sdp, userId: "Ann"))
        // What is still told about the first call is not about this one.
        await store.send(.webRTCEvent(.connectionStateChanged(.closed, connection: connection, because: "")))
    }

    @Test func `what the engine tells before the answer comes after it`() async {
        let candidates = [candidate(1), candidate(2)]
        let answer = answer
        let store = store { $0.setRemoteOffer = { _ in answer } }
        for candidate in candidates {
            await store.send(.webRTCEvent(.iceCandidateGenerated(candidate, connection: connection)))
        }
        await store.send(\.view, .handleRemoteOffer(Self.offer()))
        await store.receive(.remoteOfferHandled("Ann", answer)) { $0.connectedPeers = [self.peer(.connecting)] }
        await store.receive(\.delegate, .answerGenerated(sdp: answer.sdp, userId: "Ann"))
        for candidate in candidates {
            await store.receive(
                .delegate(
                    .iceCandidateGenerated(
                        candidate: candidate.candidate, sdpMLineIndex: 0, sdpMid: "0", userId: "Ann")))
        }
    }

    // MARK: Candidates

    @Test func `candidates go to the engine; one that is refused is told`() async {
        let error = WebRTCError.candidateRefused(userId: "Ann", reason: "It is none.")
        let good = ICECandidate(type: "ice", from: "Ann", to: "watcher", candidate: candidate(1))
        let store = store {
            $0.addIceCandidate = { (candidate) async throws(WebRTCError) in
                if candidate != good { throw error }
            }
        }
        await store.send(\.view, .handleICECandidate(good))
        var bad = good
        bad.candidate.candidate = "nonsense"
        await store.send(\.view, .handleICECandidate(bad))
        await store.receive(.failed(error)) { $0.error = error }
    }

    // MARK: Events

    @Test func `a peer that fails is told, and the others go on`() async {
        let bob = WebRTCConnectionID(userId: "Bob", session: "7")
        let store = store(peers: [peer(.connected), peer(.connecting, of: bob)])
        await store.send(
            .webRTCEvent(.connectionStateChanged(.failed, connection: connection, because: "No path is left."))
        ) {
            $0.connectedPeers[id: "Ann"]?.connectionState = .failed
            $0.error = .connectionFailed(userId: "Ann", reason: "No path is left.")
        }
        await store.receive(\.delegate, .connectionStateChanged(userId: "Ann", state: .failed))
        await store.send(.webRTCEvent(.connectionStateChanged(.connected, connection: bob, because: ""))) {
            $0.connectedPeers[id: "Bob"]?.connectionState = .connected
        }
        await store.receive(\.delegate, .connectionStateChanged(userId: "Bob", state: .connected))
        let error = WebRTCError.candidateRefused(userId: "Bob", reason: "It is none.")
        await store.send(.webRTCEvent(.errorOccurred(error, connection: bob))) { $0.error = error }
    }

    @Test func `a peer that leaves is gone, and nothing late brings it back`() async {
        let store = store(peers: [peer(.connected)])
        await store.send(.webRTCEvent(.connectionStateChanged(.closed, connection: connection, because: ""))) {
            $0.connectedPeers = []
        }
        await store.receive(\.delegate, .connectionStateChanged(userId: "Ann", state: .closed))
        await store.send(.webRTCEvent(.connectionStateChanged(.connected, connection: connection, because: "")))
        await store.send(.webRTCEvent(.iceCandidateGenerated(candidate(1), connection: connection)))
        #expect(store.state.ledger.early.isEmpty)
        // Nor the answer to its last offer, which comes by another way.
        await store.send(.remoteOfferHandled("Ann", answer))
    }

    // MARK: Disconnecting

    @Test func `who is disconnected is gone at once`() async {
        let (ended, end) = AsyncStream.makeStream(of: String.self)
        let store = store(peers: [peer(.connected)]) { $0.disconnect = { end.yield($0) } }
        await store.send(\.view, .disconnectPeer("Ann")) { $0.connectedPeers = [] }
        await store.receive(\.delegate, .connectionStateChanged(userId: "Ann", state: .closed))
        for await userId in ended {
            #expect(userId == "Ann")
            break
        }
    }

    @Test func `who is disconnected while the offer is being answered does not come back`() async {
        let answer = answer
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let store = store {
            $0.setRemoteOffer = { (_) async throws(WebRTCError) in
                // Ends when the effect is cancelled, as the engine's own wait does not.
                for await _ in gate {}
                return answer
            }
            $0.disconnect = { _ in }
        }
        await store.send(\.view, .handleRemoteOffer(Self.offer()))
        await store.send(\.view, .disconnectPeer("Ann"))
        open.finish()
        await store.finish()
        #expect(store.state.connectedPeers.isEmpty)
    }

    // MARK: Dependency

    @Test func `what a test does not replace fails it`() async {
        let dependency = WebRTCDependency.testValue
        await withKnownIssue { for await _ in await dependency.events() {} }
        await withKnownIssue { _ = try? await dependency.setRemoteOffer(Self.offer()) }
        await withKnownIssue {
            try? await dependency.addIceCandidate(
                ICECandidate(type: "ice", from: "Ann", to: "watcher", candidate: self.candidate(1)))
        }
        await withKnownIssue { await dependency.disconnect("Ann") }
    }

    @Test func `a preview answers everybody`() async throws {
        let answer = try await WebRTCDependency.previewValue.setRemoteOffer(Self.offer())
        #expect(answer.to == "Ann")
    }
}

/// Gives one stream after the other, and counts.
private actor Streams {
    private var streams: [AsyncStream<WebRTCEvent>]
    private(set) var taken = 0

    init(_ streams: [AsyncStream<WebRTCEvent>]) { self.streams = streams }

    func next() -> AsyncStream<WebRTCEvent> {
        taken += 1
        return streams.isEmpty ? AsyncStream { $0.finish() } : streams.removeFirst()
    }
}
