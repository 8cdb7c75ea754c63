import ClientKit
import Testing

@testable import ClientFeatures

@MainActor @Suite(.timeLimit(.minutes(5))) struct `What is over` {
    @Test func `is freed: the call's screen, then everything`() async throws {
        weak var chat: VideoChatViewModel?
        weak var coordinator: QuickCallCoordinator?
        do {
            let stage = try await Stage.inCall(.caller)
            coordinator = stage.coordinator
            chat = stage.coordinator.videoChat
            chat?.send(.endCallTapped)
            await chat?.finished()
            try await stage.coordinator.reaches("connected again") {
                $0.path == [.room] && $0.room?.connection == .connected
            }
            await stage.coordinator.shutDown()
        }
        // The tasks that read the streams end in their own turn.
        while chat != nil || coordinator != nil { await Task.yield() }
    }
}
