/// The database does not answer: it is down, starts, or cannot be reached. Later it may.
///
/// Of what was to be written nobody can tell whether it was: a message is sent again under its `client_id`, and is
/// there once.
package struct DatabaseAway: Error, Equatable, CustomStringConvertible {
    /// What the store knows of it, for the log.
    package let description: String

    package init(_ description: String) { self.description = description }
}
