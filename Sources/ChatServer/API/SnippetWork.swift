internal import ChatCore
internal import ChatModel
internal import Dispatch

/// Looks in messages that were found for where. That takes milliseconds of each that is long, so it is done by one
/// thread, one page after the other: everybody else's requests do not wait for it. `SearchTurns` bounds how many wait.
final class SnippetWork: Sendable {
    private let queue = DispatchQueue(label: "roost-snippets", qos: .utility)

    func results(of page: Page<Message>, for query: SearchQuery) async -> Page<SearchResult> {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: query.results(of: page)) }
        }
    }
}
