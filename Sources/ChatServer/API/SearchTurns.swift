internal import ChatCore
internal import ChatModel
internal import Synchronization

/// Lets searches into the database as `SearchQueue` has it.
final class SearchTurns: Sendable {
    private let state = Mutex(State())

    private struct State {
        var queue = SearchQueue()
        var last: SearchQueue.Ticket = 0
        var waiting: [SearchQueue.Ticket: CheckedContinuation<Bool, Never>] = [:]

        mutating func add(_ continuation: CheckedContinuation<Bool, Never>, of user: UserID) -> SearchQueue.Admission {
            last += 1
            let admission = queue.add(last, of: user)
            if admission == .waits { waiting[last] = continuation }
            return admission
        }

        mutating func end() -> CheckedContinuation<Bool, Never>? {
            queue.end().flatMap { waiting.removeValue(forKey: $0) }
        }
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Searches for somebody when it is their turn.
    ///
    /// - Throws: `ChatError` where too many wait already, or what the search throws.
    func perform<Value: Sendable>(
        of user: UserID, _ search: @Sendable () async throws -> Value
    ) async throws -> Value {
        let begins = await withCheckedContinuation { continuation in
            switch state.withLock({ $0.add(continuation, of: user) }) {
            case .begins: continuation.resume(returning: true)
            case .refused: continuation.resume(returning: false)
            case .waits: break
            }
        }
        guard begins else { throw ChatError.tooManySearches }
        defer { state.withLock { $0.end() }?.resume(returning: true) }
        return try await search()
    }
}

extension ChatError {
    fileprivate static let tooManySearches = ChatError(
        .tooMany(retryAfter: .seconds(3)), code: "busy", "Too many people are searching. Try again in a moment.")
}
