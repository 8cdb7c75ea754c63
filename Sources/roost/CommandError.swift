/// What ends a command with a non-zero status: one clear sentence on standard error.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ sentence: String) { description = sentence }
}
