import ClientKit
import Testing

@testable import ClientFeatures

/// One person with the app: the coordinator and everything scripted around it.
@MainActor struct Stage {
    let signaling = ScriptedSignaling()
    let media: ScriptedMedia
    let store: MemoryStore
    let clock = TestClock()
    let coordinator: QuickCallCoordinator

    init(store: MemoryStore = MemoryStore(), mediaConnectsByItself: Bool = true) {
        self.store = store
        media = ScriptedMedia(connectsByItself: mediaConnectsByItself)
        coordinator = QuickCallCoordinator(
            dependencies: QuickCallDependencies(
                signaling: signaling, media: media, preferences: store, secrets: store, clock: clock.callClock))
        coordinator.start()
    }

    /// A person who is connected to room 1, with Bob of the opposite role there.
    static func withPeer(_ role: CallRole, mediaConnectsByItself: Bool = true) async throws -> Stage {
        let stage = Stage(mediaConnectsByItself: mediaConnectsByItself)
        try await stage.coordinator.logIn("Anna")
        try await stage.coordinator.connect(role)
        stage.signaling.say(.roster([CallParticipant(username: "Bob", role: role.opposite)]))
        try await stage.coordinator.reaches("Bob is there") { $0.room?.presence == .present(name: "Bob") }
        return stage
    }

    /// A person in a call with Bob, media flowing.
    static func inCall(_ role: CallRole) async throws -> Stage {
        let stage = try await Stage.withPeer(role)
        switch role {
        case .caller:
            stage.coordinator.room?.send(.startCallTapped)
            try await stage.coordinator.reaches("calling") { $0.videoChat?.call == .offering }
            try await stage.signaled(.sent(.offer(SessionDescriptionPayload(type: .offer, sdp: "v=0 offer 1"))))
            stage.signaling.say(.answer(SessionDescriptionPayload(type: .answer, sdp: "v=0 answer")))
        case .callee:
            stage.signaling.say(.offer(SessionDescriptionPayload(type: .offer, sdp: "v=0 offer")))
        }
        try await stage.coordinator.reaches("in the call") {
            $0.videoChat?.call == .connected && $0.videoChat?.remoteVideo != nil
        }
        return stage
    }

    /// Passes over the log up to the entry; the test's time limit ends it otherwise.
    func signaled(_ entry: ScriptedSignaling.Entry) async throws {
        for await next in signaling.log where next == entry { return }
        throw NeverReached(what: "\(entry)")
    }

    /// Passes over the log up to the entry; the test's time limit ends it otherwise.
    func mediaDid(_ entry: ScriptedMedia.Entry) async throws {
        for await next in media.log where next == entry { return }
        throw NeverReached(what: "\(entry)")
    }
}

struct NeverReached: Error {
    let what: String
}

extension QuickCallCoordinator {
    /// Waits until what is on screen fulfils the condition.
    @discardableResult
    func reaches(
        _ what: String, _ condition: (QuickCallSnapshot) -> Bool
    ) async throws -> QuickCallSnapshot {
        for await snapshot in snapshots where condition(snapshot) { return snapshot }
        throw NeverReached(what: what)
    }

    func logIn(_ username: String, room: String = "1") async throws {
        login.send(.usernameChanged(username))
        login.send(.roomChanged(room))
        login.send(.continueTapped)
        try await reaches("the room") { $0.path == [.room] }
    }

    func connect(_ role: CallRole) async throws {
        room?.send(.isCallerChanged(role.isCaller))
        room?.send(.connectTapped)
        try await reaches("connected") { $0.room?.connection == .connected }
    }
}
