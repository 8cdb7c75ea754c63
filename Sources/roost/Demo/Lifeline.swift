internal import Foundation

/// Ends a process that was started to serve another one, when that other one is gone, however it went: the starter
/// holds the writing end of a pipe that is our standard input, and the kernel closes it when the starter ends.
enum Lifeline {
    private static let name = "ROOST_LIFELINE"

    /// What the starter sets in the environment of the process.
    static let environment = [name: "stdin"]

    /// How long an end in order may take.
    private static let grace: UInt32 = 3

    /// Called once, first thing in the process. Does nothing unless the starter asked for it.
    static func holdIfAsked() {
        guard ProcessInfo.processInfo.environment[name] == "stdin" else { return }
        Thread.detachNewThread {
            var byte: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &byte, 1)
                if count == 0 || count < 0 && errno != EINTR { break }
            }
            // As a polite `kill`: calls are hung up and recordings ended. Then without asking.
            kill(getpid(), SIGTERM)
            sleep(grace)
            _exit(1)
        }
    }
}
