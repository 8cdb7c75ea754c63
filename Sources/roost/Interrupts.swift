@preconcurrency internal import Dispatch
internal import Foundation

/// Ctrl-C and a polite `kill`, as a stream, and SIGHUP for who has a use for it. The first one ends things in order;
/// whoever is in a hurry presses again.
enum Interrupts {
    /// Where the handler writes. A C handler captures nothing and may take no lock, so it is a plain global: written
    /// before the handler is installed, by the one caller that a process has, and only read from then on.
    nonisolated(unsafe) private static var pipeEnd: Int32 = -1

    /// The signal's number comes for SIGINT and SIGTERM. The second one ends the process at once, with the usual status
    /// of 128 and its number. Keep the stream until the end: it is what makes the second one work.
    ///
    /// From the moment of the call: a signal is never lost between an old handler and a new one, as it would be with
    /// `SIG_IGN` and a dispatch source for signals, which begins to listen some time after it was activated.
    ///
    /// - Parameter hangUp: what SIGHUP does, which then ends nothing; nil to leave that signal as it is.
    static func stream(hangUp: (@Sendable () -> Void)? = nil) -> AsyncStream<Int32> {
        AsyncStream { continuation in
            var ends: [Int32] = [-1, -1]
            // Without descriptors to spare the signals do what they do by themselves.
            guard pipe(&ends) == 0 else { return }
            let (reading, writing) = (ends[0], ends[1])
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
            let source = DispatchSource.makeReadSource(fileDescriptor: reading, queue: .global())
            var count = 0
            source.setEventHandler {
                var byte: UInt8 = 0
                while read(reading, &byte, 1) == 1 {
                    if let hangUp, Int32(byte) == SIGHUP {
                        hangUp()
                        continue
                    }
                    count += 1
                    // Without the C library's goodbyes: other threads are in the middle of things.
                    if count > 1 { _exit(128 + Int32(byte)) }
                    continuation.yield(Int32(byte))
                }
            }
            source.setCancelHandler { close(reading) }
            source.activate()
            pipeEnd = writing
            for number in [SIGINT, SIGTERM] { signal(number, handler) }
            if hangUp != nil { signal(SIGHUP, handler) }
            continuation.onTermination = { _ in
                // Whoever ends the stream ends the process with a status of its own.
                for number in [SIGINT, SIGTERM] { signal(number, SIG_IGN) }
                source.cancel()
            }
        }
    }

    /// Only what a signal handler may do (POSIX: write is async-signal-safe).
    private static let handler: @convention(c) (Int32) -> Void = { number in
        let before = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(pipeEnd, &byte, 1)
        errno = before
    }
}
