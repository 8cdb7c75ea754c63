internal import ChatCore
internal import Synchronization

/// What is done after a request has been answered, so that nobody can tell by the time what there was to do. The server
/// does not end before it is done.
final class LaterWork: Sendable {
    private struct State {
        var running = 0
        var whenDone: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// More than that at one time is a flood, or a database that does not keep up.
    private let most: Int

    init(most: Int = 1_000) { self.most = most }

    /// Asked before anything is done, so that a refusal tells nothing.
    ///
    /// - Throws: `ChatError` when too much waits already.
    func demandRoom() throws(ChatError) {
        guard state.withLock({ $0.running < most }) else { throw .busy }
    }

    /// Begins, and does not wait.
    func begin(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.running += 1 }
        Task {
            await body()
            end()
        }
    }

    private func end() {
        let waiting = state.withLock { state in
            state.running -= 1
            guard state.running == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.whenDone = [] }
            return state.whenDone
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when nothing is left to do.
    func finish() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.running > 0 { state.whenDone.append(continuation) }
                return state.running == 0
            }
            if isDone { continuation.resume() }
        }
    }
}
