internal import Foundation

/// Standard output and standard error, where a reader may go away in mid-call.
enum Console {
    /// To be called first. From then on a closed pipe, or a file that may not grow, is an error of the write and does
    /// not end the process; and no socket gets the number of a standard stream that was closed at the start.
    static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Writes a line at once, as whoever follows through a pipe wants it. False when it cannot be written.
    @discardableResult
    static func say(_ line: String) -> Bool { write(line + "\n", to: STDOUT_FILENO) }

    /// Writes what is no line yet.
    static func show(_ text: String) { _ = write(text, to: STDOUT_FILENO) }

    /// Says what ended the command.
    static func fail(_ sentence: String) { _ = write("roost: \(sentence)\n", to: STDERR_FILENO) }

    /// Writes a line of a log.
    static func log(_ line: String) { _ = write(line + "\n", to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Somebody made the terminal non-blocking; it takes more soon.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wanted, 1, 1_000)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}

/// The system's `write`, which `Console`'s own hides.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
