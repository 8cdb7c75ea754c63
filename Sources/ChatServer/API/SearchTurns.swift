internal import ChatCore
internal import ChatModel
internal import Synchronization

/// Lets searches into the database as `SearchQueue` has it.
final class SearchTurns: Sendable {
    private let state = Mutex(State())

    private struct State {
        var queue = SearchQueue()
        var last: SearchQueue.Ticket = 0
        var waiting: [SearchQueue.Ticket: CheckedContinuation<SearchQueue.Refusal?, Never>] = [:]

        mutating func add(
            _ continuation: CheckedContinuation<SearchQueue.Refusal?, Never>, of user: UserID
        ) -> SearchQueue.Admission {
            last += 1
            let admission = queue.add(last, of: user)
            if admission == .waits { waiting[last] = continuation }
            return admission
        }

        mutating func end() -> CheckedContinuation<SearchQueue.Refusal?, Never>? {
            queue.end().flatMap { waiting.removeValue(forKey: $0) }
        }
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Searches for somebody when it is their turn.
    ///
    /// - Throws: `ChatError` where too many wait already, of all or of this person, or what the search throws.
    func perform<Value: Sendable>(
        of user: UserID, _ search: @Sendable () async throws -> Value
    ) async throws -> Value {
        let refusal = await withCheckedContinuation { continuation in
            switch state.withLock({ $0.add(continuation, of: user) }) {
            case .begins: continuation.resume(returning: nil)
            case .refused(let refusal): continuation.resume(returning: refusal)
            case .waits: break
            }
        }
        if let refusal { throw ChatError(refusal) }
        defer { state.withLock { $0.end() }?.resume(returning: nil) }
        return try await search()
    }
}

extension ChatError {
    fileprivate init(_ refusal: SearchQueue.Refusal) {
        let message =
            switch refusal {
            case .tooManyOfOne: "Four of your searches wait already. Try again in a moment."
            case .tooMany: "Too many people are searching. Try again in a moment."
            }
        self.init(.tooMany(retryAfter: .seconds(3)), code: "busy", message)
    }
}
