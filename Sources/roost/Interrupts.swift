@preconcurrency internal import Dispatch
internal import Foundation

/// Ctrl-C and a polite `kill`, as a stream. The first one ends things in order; whoever is in a hurry presses again.
enum Interrupts {
    /// The signal's number comes for SIGINT and SIGTERM. The second one ends the process at once, with the usual status
    /// of 128 and its number. Keep the stream until the end: it is what makes the second one work.
    static func stream() -> AsyncStream<Int32> {
        AsyncStream { continuation in
            let count = Counter()
            let sources = [SIGINT, SIGTERM].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler {
                    // Without the C library's goodbyes: other threads are in the middle of things.
                    if count.next() > 1 { _exit(128 + number) }
                    continuation.yield(number)
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
