/// Hands every change to everybody who listens: for a terminal, a test, or anything else that is no SwiftUI view.
///
/// `Observations` of Swift 6.2 would do the same, but asks for newer Apple systems than the app does.
@MainActor final class Broadcast<Value: Sendable> {
    private var listeners: [Int: AsyncStream<Value>.Continuation] = [:]
    private var nextListener = 0

    /// The given value, then every change until the listener stops.
    func stream(startingWith first: Value) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream<Value>.makeStream()
        let id = nextListener
        nextListener += 1
        listeners[id] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { @MainActor in self?.listeners[id] = nil }
        }
        continuation.yield(first)
        return stream
    }

    func publish(_ value: Value) {
        for listener in listeners.values { listener.yield(value) }
    }

    deinit {
        for listener in listeners.values { listener.finish() }
    }
}
