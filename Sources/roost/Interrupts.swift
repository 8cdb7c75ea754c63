@preconcurrency internal import Dispatch
internal import Foundation

/// Ctrl-C and a polite `kill`, as a stream. The first one ends things in order; whoever is in a hurry presses again.
enum Interrupts {
    /// Elements come for SIGINT and SIGTERM. The second one ends the process at once, with the usual status 130.
    static func stream() -> AsyncStream<Void> {
        AsyncStream { continuation in
            let count = Counter()
            let sources = [SIGINT, SIGTERM].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler {
                    if count.next() > 1 { exit(130) }
                    continuation.yield()
                }
                source.activate()
                return source
            }
            continuation.onTermination = { _ in for source in sources { source.cancel() } }
        }
    }

    /// Only the signal queue's handlers touch it, one after the other.
    private final class Counter: @unchecked Sendable {
        private let lock = NSLock()
        private var value = 0

        func next() -> Int {
            lock.withLock {
                value += 1
                return value
            }
        }
    }
}
