internal import SocketIO
internal import Synchronization

/// The connections to one URL, each for one request at a time: who finds none free waits, and gets one in the order of
/// coming. From any thread.
final class WebhookConnections: Sendable {
    private struct State {
        /// The one used last is the last: where little happens one connection is kept busy, and the others never made.
        var free: [HTTPPoster]
        var waiting: [CheckedContinuation<HTTPPoster?, Never>] = []
        var isOver = false
    }

    /// Requests to one URL at the same time.
    static let limit = 16

    private let posters: [HTTPPoster]
    private let state: Mutex<State>

    /// Nil for what nobody can post to.
    init?(to url: WebhookURL) {
        let posters = (0..<Self.limit).compactMap { _ in try? HTTPPoster(url: url.description) }
        guard !posters.isEmpty else { return nil }
        self.posters = posters
        state = Mutex(State(free: posters))
    }

    /// To be given back. Nil once it is over.
    func take() async -> HTTPPoster? {
        await withCheckedContinuation { continuation in
            let (isAnswered, poster) = state.withLock { state -> (Bool, HTTPPoster?) in
                if state.isOver { return (true, nil) }
                if let poster = state.free.popLast() { return (true, poster) }
                state.waiting.append(continuation)
                return (false, nil)
            }
            if isAnswered { continuation.resume(returning: poster) }
        }
    }

    func giveBack(_ poster: HTTPPoster) {
        let next = state.withLock { state -> CheckedContinuation<HTTPPoster?, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free.append(poster)
            return nil
        }
        next?.resume(returning: poster)
    }

    /// Nobody gets one any more, nor who waits for one.
    func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: nil) }
    }

    /// When none is used any more.
    func close() async { for poster in posters { await poster.close() } }
}
