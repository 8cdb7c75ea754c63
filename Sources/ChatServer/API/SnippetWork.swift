internal import ChatCore
internal import ChatModel
internal import Dispatch
internal import Synchronization

/// Looks in messages that were found for where. That takes milliseconds of each that is long, so it is done by one
/// thread, one page after the other: everybody else's requests do not wait for it.
final class SnippetWork: Sendable {
    private let queue = DispatchQueue(label: "roost-snippets", qos: .utility)
    private let waiting = Atomic<Int>(0)
    /// Pages. Who has to wait longer than some seconds is better off trying again.
    private static let mostWaiting = 16

    func results(of page: Page<Message>, for query: SearchQuery) async throws(ChatError) -> Page<SearchResult> {
        defer { waiting.subtract(1, ordering: .relaxed) }
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.mostWaiting else { throw .tooManySearches }
        return await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: query.results(of: page)) }
        }
    }
}

extension ChatError {
    fileprivate static let tooManySearches = ChatError(
        .tooMany(retryAfter: .seconds(3)), code: "busy", "Too many people are searching. Try again in a moment.")
}
