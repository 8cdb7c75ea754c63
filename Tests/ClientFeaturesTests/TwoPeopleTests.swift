import ClientKit
import Testing

@testable import ClientFeatures

/// Two people with the app in one room of a server in memory.
@MainActor @Suite(.timeLimit(.minutes(5))) struct `Two people` {
    private func person(in room: CallRoomInMemory) -> (coordinator: QuickCallCoordinator, clock: TestClock) {
        let store = MemoryStore()
        let clock = TestClock()
        let coordinator = QuickCallCoordinator(
            dependencies: QuickCallDependencies(
                signaling: room.makeService(), media: ScriptedMedia(), preferences: store, secrets: store,
                clock: clock.callClock))
        coordinator.start()
        return (coordinator, clock)
    }

    @Test(arguments: [true, false], [CallRole.caller, .callee])
    func `call each other, whoever came first and whatever the server tells`(
        tellsNewcomers: Bool, first: CallRole
    ) async throws {
        let room = CallRoomInMemory(tellsNewcomers: tellsNewcomers)
        let anna = person(in: room).coordinator
        let bob = person(in: room).coordinator
        try await anna.logIn("Anna")
        try await bob.logIn("Bob")
        // Anna comes first.
        try await anna.connect(first)
        try await bob.connect(first.opposite)
        let (caller, callee) = first == .caller ? (anna, bob) : (bob, anna)

        try await caller.reaches("a call is possible") { $0.room?.canStartCall == true }
        caller.room?.send(.startCallTapped)
        try await caller.reaches("the caller is in the call") { $0.videoChat?.call == .connected }
        try await callee.reaches("the callee is in the call") { $0.videoChat?.call == .connected }

        // The callee ends it; the caller is told by the server.
        callee.videoChat?.send(.endCallTapped)
        let back = try await caller.reaches("the caller is back") { $0.path == [.room] }
        #expect(back.room?.notice?.hasSuffix("left the room, so the call is over.") == true)
        try await callee.reaches("the callee is back and connected") {
            $0.path == [.room] && $0.room?.connection == .connected
        }

        // And once more.
        try await caller.reaches("a call is possible again") { $0.room?.canStartCall == true }
        caller.room?.send(.startCallTapped)
        try await callee.reaches("the callee is in the second call") { $0.videoChat?.call == .connected }
        try await caller.reaches("the caller is in the second call") { $0.videoChat?.call == .connected }

        caller.videoChat?.send(.endCallTapped)
        try await callee.reaches("the callee is back") { $0.path == [.room] }
        callee.room?.send(.logoutTapped)
        #expect(callee.path == [])
    }

    @Test func `find each other when the callee opens the room after the call began`() async throws {
        let room = CallRoomInMemory(tellsNewcomers: false)
        let anna = person(in: room)
        let bob = person(in: room).coordinator
        try await anna.coordinator.logIn("Anna")
        try await bob.logIn("Bob")
        try await anna.coordinator.connect(.caller)
        let ear = room.makeService()
        try await ear.connect(as: CallIdentity(username: "Ear", room: try #require(CallRoomID(1)), role: .caller))
        anna.coordinator.room?.send(.startCallTapped)
        for await event in ear.events {
            if case .offer = event { break }
        }
        try await bob.connect(.callee)
        // The offer that Bob missed comes again.
        try await anna.coordinator.reaches("Bob's name") { $0.videoChat?.peerName == "Bob" }
        anna.clock.advance(by: .seconds(4))
        try await bob.reaches("Bob is in the call") { $0.videoChat?.call == .connected }
    }
}
