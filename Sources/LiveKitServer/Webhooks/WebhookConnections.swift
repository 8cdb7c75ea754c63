internal import SocketIO
internal import Synchronization

/// The connections to one URL, each for one request at a time: who finds none free waits, and gets one in the order of
/// coming. From any thread.
final class WebhookConnections: Sendable {
    private struct State {
        /// The one used last is the last: where little happens one connection is kept busy, and the others never made.
        var free: [HTTPPoster]
        /// So many of them, the last ones, may have a connection.
        var connected = 0
        var waiting: [CheckedContinuation<HTTPPoster?, Never>] = []
        var isOver = false
    }

    /// Requests to one URL at the same time.
    static let limit = 16
    /// Connections that stay while nobody has anything to post.
    static let idleLimit = 2

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
                if let poster = state.free.popLast() {
                    state.connected = max(state.connected - 1, 0)
                    return (true, poster)
                }
                state.waiting.append(continuation)
                return (false, nil)
            }
            if isAnswered { continuation.resume(returning: poster) }
        }
    }

    func giveBack(_ poster: HTTPPoster) {
        let idle = give(poster) { state in
            state.free.append(poster)
            state.connected += 1
            guard state.connected > Self.idleLimit else { return nil }
            state.connected -= 1
            return state.free.remove(at: state.free.count - 1 - state.connected)
        }
        guard let idle else { return }
        // Nobody has it until it is closed.
        Task {
            await idle.close()
            _ = give(idle) { state in
                state.free.insert(idle, at: 0)
                return nil
            }
        }
    }

    /// To who waits, or else back.
    ///
    /// - Returns: the one that is to be closed.
    private func give(_ poster: HTTPPoster, back: (inout State) -> HTTPPoster?) -> HTTPPoster? {
        let (next, idle) = state.withLock { state -> (CheckedContinuation<HTTPPoster?, Never>?, HTTPPoster?) in
            guard state.waiting.isEmpty else { return (state.waiting.removeFirst(), nil) }
            return (nil, back(&state))
        }
        next?.resume(returning: poster)
        return idle
    }

    /// Those that there are.
    var connectedCount: Int {
        get async {
            var count = 0
            for poster in posters {
                if await poster.isConnected { count += 1 }
            }
            return count
        }
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
