internal import Synchronization

/// One source of events, any number of listeners, each with a stream of its own: none takes from another.
///
/// While nobody listens, events are kept for whoever does next. Guarded by its lock; events are yielded inside it, so
/// that listeners agree on their order.
final class WebRTCEventBroadcast: Sendable {
    /// What is kept for a listener that is slow or not there; the oldest give way.
    static let backlog = 1_024

    private struct State {
        var listeners: [Int: AsyncStream<WebRTCEvent>.Continuation] = [:]
        var nextID = 0
        var kept: [WebRTCEvent] = []
    }

    private let state = Mutex(State())

    deinit {
        state.withLock { state in
            for listener in state.listeners.values { listener.finish() }
        }
    }

    /// What happens from now on, and before it what nobody has heard. Ends when the listener stops, or with the source.
    func stream() -> AsyncStream<WebRTCEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: WebRTCEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        let id = state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            for event in state.kept { continuation.yield(event) }
            state.kept = []
            state.listeners[id] = continuation
            return id
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { state in _ = state.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    func send(_ event: WebRTCEvent) {
        state.withLock { state in
            for listener in state.listeners.values { listener.yield(event) }
            guard state.listeners.isEmpty else { return }
            state.kept.append(event)
            if state.kept.count > Self.backlog { state.kept.removeFirst() }
        }
    }

    var listenerCount: Int { state.withLock { $0.listeners.count } }
}
