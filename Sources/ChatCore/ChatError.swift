/// Why something that was asked for was not done. Nothing has changed when it is thrown.
package struct ChatError: Error, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The request is wrong in itself.
        case invalid
        /// Nobody is logged in, or not any more.
        case unauthenticated
        /// Whoever asks may see it, and may not do it.
        case forbidden
        /// There is no such thing, or none that whoever asks may know of.
        case notFound
        /// It does not go together with how things are.
        case conflict
        /// It was there once: a link that was used or is too old.
        case gone
        /// Somebody else has changed it in between (`If-Match`).
        case outdated
        case tooLarge
        case tooMany(retryAfter: Duration)
        /// Something that this server needs for it is not there, or does not answer.
        case unavailable
        /// Something of ours is broken: the log says what.
        case broken
    }

    package var kind: Kind
    /// For programs.
    package var code: String
    /// For people.
    package var message: String
    /// Which part of the request is meant.
    package var field: String?

    package init(_ kind: Kind, code: String, _ message: String, field: String? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.field = field
    }

    package static func invalid(_ field: String, _ message: String) -> ChatError {
        ChatError(.invalid, code: "invalid_\(field)", message, field: field)
    }

    package static func notFound(_ what: String) -> ChatError {
        ChatError(.notFound, code: "\(what)_not_found", "There is no such \(what).")
    }

    package static func conflict(_ code: String, _ message: String, field: String? = nil) -> ChatError {
        ChatError(.conflict, code: code, message, field: field)
    }

    package static func forbidden(_ code: String, _ message: String) -> ChatError {
        ChatError(.forbidden, code: code, message)
    }

    package static let outdated = ChatError(
        .outdated, code: "outdated", "It was changed in between. Read it again, and try once more.")
}

extension ChatError {
    /// What is told to whoever asked when something ends in an error of whatever kind.
    package init(telling error: any Error) {
        switch error {
        case let error as ChatError: self = error
        case is DatabaseAway:
            self.init(
                .unavailable, code: "database_unavailable", "The server's database does not answer. Try again soon.")
        default: self.init(.broken, code: "internal_error", "Something went wrong on the server.")
        }
    }
}
