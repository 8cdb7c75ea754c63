internal import Synchronization

/// One source and any number of listeners, each with a stream of its own. What is told before the first listener comes
/// is kept for it.
///
/// Guarded by its lock; elements are yielded outside of it, by the one task that sends.
final class EventBroadcast: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<RoomEvent>.Continuation] = [:]
        var nextID = 0
        var early: [RoomEvent] = []
        var hasHadListener = false
        var isFinished = false
    }

    /// A listener that is so many events behind loses the oldest.
    private static let backlog = 8_192

    private let state = Mutex(State())

    func stream() -> AsyncStream<RoomEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RoomEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        state.withLock { state in
            for event in state.early { continuation.yield(event) }
            state.early = []
            state.hasHadListener = true
            guard !state.isFinished else { return continuation.finish() }
            let id = state.nextID
            state.nextID += 1
            state.listeners[id] = continuation
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { state in _ = state.listeners.removeValue(forKey: id) }
            }
        }
        return stream
    }

    func send(_ event: RoomEvent) {
        let listeners = state.withLock { state -> [AsyncStream<RoomEvent>.Continuation] in
            if !state.hasHadListener, !state.isFinished {
                state.early.append(event)
                if state.early.count > Self.backlog { state.early.removeFirst() }
            }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(event) }
    }

    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
