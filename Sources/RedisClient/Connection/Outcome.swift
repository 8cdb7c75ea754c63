internal import Synchronization

/// What becomes of something: said once, waited for once. What is said later is nobody's business. From any thread.
final class Outcome<Value: Sendable>: Sendable {
    typealias Answer = Result<Value, RedisFault>

    private enum State {
        case open
        case awaited(CheckedContinuation<Answer, Never>)
        case known(Answer)
    }

    private let state = Mutex(State.open)

    func resolve(_ answer: Answer) {
        let waiting: CheckedContinuation<Answer, Never>? = state.withLock { state in
            switch state {
            case .open:
                state = .known(answer)
                return nil
            case .awaited(let continuation):
                state = .known(answer)
                return continuation
            case .known: return nil
            }
        }
        waiting?.resume(returning: answer)
    }

    /// Waits for the answer, or for the end of the task.
    func value() async throws(RedisFault) -> Value {
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: Answer? = state.withLock { state in
                    if case .known(let answer) = state { return answer }
                    state = .awaited(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            resolve(.failure(.timedOut))
        }
        return try answer.get()
    }
}
