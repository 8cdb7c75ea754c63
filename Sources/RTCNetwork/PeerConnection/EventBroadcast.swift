internal import Synchronization

/// One source, any number of listeners, each with an `AsyncStream` of its own. What comes before the first listener is
/// kept for it (up to `backlog`), so that nothing is missed between making a connection and listening to it.
///
/// Guarded by its lock; elements are yielded to who may be waiting after it is released, by the one thread that sends.
final class EventBroadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
        var nextID = 0
        var early: [Element] = []
        var hasHadListener = false
        var isFinished = false
    }

    private let state = Mutex(State())
    private let backlog: Int

    /// - Parameter backlog: how many elements are kept for a listener that is slow, or not there yet; older ones give
    ///   way.
    init(backlog: Int) { self.backlog = backlog }

    /// A stream of what is sent from now on. It ends when the source finishes.
    func stream() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(backlog))
        state.withLock { state in
            // Under the lock, so that nothing newer comes before what was early. Nobody waits on the stream yet.
            for element in state.early { continuation.yield(element) }
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

    /// How many listen now.
    var listenerCount: Int { state.withLock { $0.listeners.count } }

    func send(_ element: Element) {
        let listeners = state.withLock { state -> [AsyncStream<Element>.Continuation] in
            if !state.hasHadListener, !state.isFinished {
                state.early.append(element)
                if state.early.count > backlog { state.early.removeFirst() }
            }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(element) }
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
