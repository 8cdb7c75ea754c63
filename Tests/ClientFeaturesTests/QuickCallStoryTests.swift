import ClientKit
import Testing

@testable import ClientFeatures

private func offer(_ sdp: String) -> SessionDescriptionPayload { SessionDescriptionPayload(type: .offer, sdp: sdp) }
private func answer(_ sdp: String) -> SessionDescriptionPayload { SessionDescriptionPayload(type: .answer, sdp: sdp) }
private let bobTheCallee = CallParticipant(username: "Bob", role: .callee)

@MainActor @Suite(.timeLimit(.minutes(5))) struct `The quick call` {
    @Test func `goes from login through a call and back`() async throws {
        let stage = Stage()
        let coordinator = stage.coordinator
        #expect(coordinator.path == [])

        coordinator.login.send(.usernameChanged("Anna"))
        coordinator.login.send(.roomChanged("1"))
        coordinator.login.send(.continueTapped)
        coordinator.login.send(.continueTapped)
        #expect(coordinator.path == [.room])

        let room = try #require(coordinator.room)
        room.send(.isCallerChanged(true))
        room.send(.connectTapped)
        try await coordinator.reaches("connected") { $0.room?.connection == .connected }
        stage.signaling.say(.roster([]))
        try await coordinator.reaches("an empty room") { $0.room?.presence == .absent }
        room.send(.startCallTapped)
        #expect(coordinator.path == [.room])

        stage.signaling.say(.peerJoined(bobTheCallee))
        try await coordinator.reaches("Bob") { $0.room?.canStartCall == true }
        room.send(.startCallTapped)
        room.send(.startCallTapped)
        #expect(coordinator.path == [.room, .videoChat])
        #expect(coordinator.videoChat?.state.peerName == "Bob")

        try await stage.signaled(.sent(.offer(offer("v=0 offer 1"))))
        stage.signaling.say(.answer(answer("v=0 answer")))
        let inCall = try await coordinator.reaches("in the call") {
            $0.videoChat?.call == .connected && $0.videoChat?.remoteVideo != nil
        }
        #expect(inCall.videoChat?.localVideo == VideoSurface(id: "local"))
        #expect(inCall.videoChat?.remoteVideo == VideoSurface(id: "remote"))

        stage.signaling.say(.peerLeft(username: "Bob"))
        let back = try await coordinator.reaches("back in the room") { $0.path == [.room] }
        #expect(back.room?.notice == "Bob left the room, so the call is over.")
        #expect(back.room?.connection == .connected)
        #expect(back.room?.canStartCall == false)
        try await stage.mediaDid(.closed)

        room.send(.logoutTapped)
        #expect(coordinator.path == [])
        #expect(coordinator.room == nil)
        #expect(coordinator.login.state == LoginState())
        #expect(stage.store.value(for: QuickCallLoginStore.username) == nil)
        #expect(stage.store.secret(for: QuickCallLoginStore.room) == nil)
        try await stage.signaled(.disconnect)
    }

    @Test func `resumes in the room when a login is stored`() {
        let store = MemoryStore([QuickCallLoginStore.username: "Anna", QuickCallLoginStore.room: "5"])
        let stage = Stage(store: store)
        #expect(stage.coordinator.path == [.room])
        #expect(stage.coordinator.room?.state.username == "Anna")
        #expect(stage.coordinator.room?.state.room == CallRoomID(5))
        stage.coordinator.wentBack(to: [])
        #expect(stage.coordinator.room == nil)
        #expect(stage.coordinator.login.state.username == "Anna")
    }

    @Test func `opens for a callee when an offer comes, with the candidates before it`() async throws {
        let stage = try await Stage.withPeer(.callee)
        stage.signaling.say(.candidate(IceCandidatePayload(candidate: "candidate:1")))
        stage.signaling.say(.offer(offer("v=0 hello")))
        stage.signaling.say(.candidate(IceCandidatePayload(candidate: "candidate:2")))
        try await stage.coordinator.reaches("in the call") { $0.videoChat?.call == .connected }
        #expect(stage.coordinator.videoChat?.state.peerName == "Bob")
        var log = stage.media.log.makeAsyncIterator()
        #expect(await log.next() == .opened)
        #expect(await log.next() == .microphone(true))
        #expect(await log.next() == .camera(true))
        #expect(await log.next() == .answer(to: "v=0 hello"))
        #expect(await log.next() == .remoteCandidate("candidate:1"))
        #expect(await log.next() == .remoteCandidate("candidate:2"))
        try await stage.signaled(.sent(.answer(answer("v=0 answer to v=0 hello"))))
    }

    @Test func `lets a callee wait on the call's screen for the offer`() async throws {
        let stage = try await Stage.withPeer(.callee)
        stage.coordinator.room?.send(.startCallTapped)
        try await stage.coordinator.reaches("waiting") { $0.videoChat?.call == .waitingForOffer }
        stage.signaling.say(.offer(offer("v=0 hello")))
        try await stage.coordinator.reaches("in the call") { $0.videoChat?.call == .connected }
    }

    @Test func `tells two callers that one has to be the callee`() async throws {
        let stage = try await Stage.withPeer(.caller)
        stage.signaling.say(.offer(offer("v=0 hello")))
        let snapshot = try await stage.coordinator.reaches("a notice") { $0.room?.notice != nil }
        #expect(
            snapshot.room?.notice == "Somebody calls, but you are a caller too: one of you has to be the callee.")
        #expect(snapshot.path == [.room])
    }

    @Test func `holds candidates that come before the answer`() async throws {
        let stage = try await Stage.withPeer(.caller)
        stage.coordinator.room?.send(.startCallTapped)
        try await stage.signaled(.sent(.offer(offer("v=0 offer 1"))))
        stage.signaling.say(.candidate(IceCandidatePayload(candidate: "candidate:1")))
        stage.signaling.say(.answer(answer("v=0 answer")))
        try await stage.mediaDid(.remoteAnswer("v=0 answer"))
        try await stage.mediaDid(.remoteCandidate("candidate:1"))
    }

    @Test func `goes on without the socket, and says so`() async throws {
        let stage = try await Stage.inCall(.caller)
        stage.signaling.say(.connectionLost(reason: "timeout"))
        let lost = try await stage.coordinator.reaches("a notice") { $0.videoChat?.notice != nil }
        #expect(lost.videoChat?.notice == "The signaling connection broke; the call goes on.")
        #expect(lost.videoChat?.call == .connected)
        stage.signaling.say(.reconnected)
        try await stage.coordinator.reaches("no notice") { $0.videoChat?.notice == nil }
        stage.signaling.say(.closed(reason: "server stopped"))
        let closed = try await stage.coordinator.reaches("a notice again") { $0.videoChat?.notice != nil }
        #expect(closed.path == [.room, .videoChat])
        #expect(closed.videoChat?.call == .connected)
    }

    @Test func `survives a partner's change of sockets`() async throws {
        let stage = try await Stage.inCall(.caller)
        stage.signaling.say(.peerJoined(bobTheCallee))
        stage.signaling.say(.peerLeft(username: "Bob"))
        stage.signaling.say(.peerJoined(CallParticipant(username: "Eve", role: .caller)))
        let snapshot = try await stage.coordinator.reaches("Eve") { $0.room?.sameRoleNames == ["Eve"] }
        #expect(snapshot.videoChat?.call == .connected)
    }

    @Test func `ends when the partner leaves during ringing`() async throws {
        let stage = try await Stage.withPeer(.caller)
        stage.coordinator.room?.send(.startCallTapped)
        try await stage.signaled(.sent(.offer(offer("v=0 offer 1"))))
        stage.signaling.say(.peerLeft(username: "Bob"))
        let back = try await stage.coordinator.reaches("the room") { $0.path == [.room] }
        #expect(back.room?.notice == "Bob left the room, so the call is over.")
        try await stage.mediaDid(.closed)
    }

    @Test func `is not ended by somebody else who leaves`() async throws {
        let stage = try await Stage.inCall(.caller)
        stage.signaling.say(.peerJoined(CallParticipant(username: "Eve", role: .caller)))
        stage.signaling.say(.peerLeft(username: "Eve"))
        stage.signaling.say(.peerJoined(CallParticipant(username: "Max", role: .caller)))
        let snapshot = try await stage.coordinator.reaches("Max") { $0.room?.sameRoleNames == ["Max"] }
        #expect(snapshot.videoChat?.call == .connected)
    }

    @Test func `restarts ICE when media fails, and recovers`() async throws {
        let stage = try await Stage.inCall(.caller)
        stage.media.happen(.connectionState(.failed))
        try await stage.coordinator.reaches("repairing") { $0.videoChat?.call == .reconnectingMedia }
        try await stage.mediaDid(.restartIce)
        try await stage.signaled(.sent(.offer(offer("v=0 offer 2"))))
        stage.signaling.say(.answer(answer("v=0 answer 2")))
        try await stage.coordinator.reaches("recovered") { $0.videoChat?.call == .connected }
    }

    @Test func `ends when media cannot be restored, and tells the partner by joining the room again`() async throws {
        let stage = try await Stage.inCall(.caller)
        stage.media.happen(.connectionState(.failed))
        try await stage.signaled(.sent(.offer(offer("v=0 offer 2"))))
        stage.clock.advance(by: .seconds(60))
        let back = try await stage.coordinator.reaches("the room") { $0.path == [.room] }
        #expect(back.room?.notice == "The connection to Bob was lost.")
        try await stage.signaled(.disconnect)
        try await stage.coordinator.reaches("connected again") { $0.room?.connection == .connected }
    }

    @Test func `offers again and gives up when nobody answers`() async throws {
        let stage = try await Stage.withPeer(.caller)
        stage.coordinator.room?.send(.startCallTapped)
        try await stage.signaled(.sent(.offer(offer("v=0 offer 1"))))
        stage.clock.advance(by: .seconds(4))
        try await stage.signaled(.sent(.offer(offer("v=0 offer 1"))))
        stage.clock.advance(by: .seconds(60))
        let back = try await stage.coordinator.reaches("the room") { $0.path == [.room] }
        #expect(back.room?.notice == "Bob did not answer.")
    }

    @Test func `says why there is no camera`() async throws {
        let stage = try await Stage.withPeer(.caller)
        stage.media.willFail(.unavailable("The camera is in use by another program."))
        stage.coordinator.room?.send(.startCallTapped)
        let back = try await stage.coordinator.reaches("the room") { $0.path == [.room] && $0.room?.notice != nil }
        #expect(back.room?.notice == "The camera is in use by another program.")
    }

    @Test func `tells who calls that there is no camera`() async throws {
        let stage = try await Stage.withPeer(.callee)
        stage.media.willFail(.unavailable("The camera is in use by another program."))
        stage.signaling.say(.offer(offer("v=0 hello")))
        let back = try await stage.coordinator.reaches("the room") { $0.path == [.room] && $0.room?.notice != nil }
        #expect(back.room?.notice == "The camera is in use by another program.")
        // The caller would ring on otherwise, and each offer would open the call again.
        try await stage.signaled(.disconnect)
        try await stage.coordinator.reaches("connected again") { $0.room?.connection == .connected }
    }

    @Test func `knows who calls before it knows that there is no camera`() async {
        let media = ScriptedMedia()
        media.willFail(.unavailable("The camera is in use by another program."))
        let session = CallSession(
            role: .callee, signaling: ScriptedSignaling(), engine: media, clock: TestClock().callClock)
        session.start(with: [.offer(offer("v=0 hello"))])
        var states: [CallState] = []
        for await update in session.updates {
            if case .state(let state, _) = update { states.append(state) }
        }
        let ended = CallState.ended(.mediaUnavailable("The camera is in use by another program."))
        #expect(states == [.waitingForOffer, .answering, ended])
    }

    @Test func `mutes, hides, shows statistics and hangs up once for two taps`() async throws {
        let stage = try await Stage.inCall(.callee)
        let chat = try #require(stage.coordinator.videoChat)
        chat.send(.microphoneTapped)
        chat.send(.cameraTapped)
        #expect(!chat.state.isMicrophoneOn && !chat.state.isCameraOn)
        try await stage.mediaDid(.microphone(false))
        try await stage.mediaDid(.camera(false))
        let statistics = CallStatistics(roundTrip: .milliseconds(20))
        stage.media.happen(.statistics(statistics))
        try await stage.coordinator.reaches("statistics") { $0.videoChat?.statistics == statistics }
        chat.send(.endCallTapped)
        chat.send(.endCallTapped)
        let back = try await stage.coordinator.reaches("the room") { $0.path == [.room] }
        #expect(back.room?.notice == "You ended the call.")
        await chat.finished()
        try await stage.mediaDid(.closed)
    }

    @Test func `ends cleanly with the program`() async throws {
        let stage = try await Stage.inCall(.caller)
        await stage.coordinator.shutDown()
        #expect(stage.coordinator.path == [.room])
        #expect(stage.coordinator.room?.state.connection == .disconnected)
        try await stage.mediaDid(.closed)
        try await stage.signaled(.disconnect)
    }
}
