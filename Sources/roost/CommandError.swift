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
