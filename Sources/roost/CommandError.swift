internal import ArgumentParser

/// What ends a command with a non-zero status: one clear sentence on standard error.
struct CommandError: Error, CustomStringConvertible {
    let description: String
    /// The process's exit status.
    let status: Int32

    init(_ sentence: String, status: Int32 = 1) {
        description = sentence
        self.status = status
    }
}

extension CommandError {
    /// Runs a command's work; says what ended it, and ends the process with that status.
    static func reported(_ work: () throws -> Void) throws {
        do {
            try work()
        } catch let error as CommandError {
            Console.fail(error.description)
            throw ExitCode(error.status)
        }
    }
}
