internal import ChatCore

extension ChatError {
    static let notLoggedIn = ChatError(.unauthenticated, code: "not_logged_in", "Log in first.")
    static let notJSON = ChatError(.invalid, code: "not_json", "The body is not the JSON that this takes.")

    /// What is wrong with a body, and where, without repeating it.
    init(_ error: DecodingError) {
        let (path, message): ([any CodingKey], String)
        switch error {
        case .keyNotFound(let key, let context): (path, message) = (context.codingPath + [key], "This is missing.")
        case .valueNotFound(_, let context): (path, message) = (context.codingPath, "This cannot be null.")
        case .typeMismatch(_, let context): (path, message) = (context.codingPath, "This is of another type.")
        case .dataCorrupted(let context): (path, message) = (context.codingPath, "This is not one of its values.")
        @unknown default: (path, message) = ([], "")
        }
        guard !path.isEmpty else {
            self = .notJSON
            return
        }
        self.init(
            .invalid, code: "invalid_body", message,
            field: path.map { $0.intValue.map { String($0) } ?? $0.stringValue }.joined(separator: "."))
    }
}
