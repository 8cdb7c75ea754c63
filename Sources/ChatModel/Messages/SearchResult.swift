/// A message that was found.
public struct SearchResult: Codable, Sendable, Equatable {
    public var message: Message
    /// A part of its words around what was looked for, in pieces.
    public var snippet: [SnippetPiece]

    public init(message: Message, snippet: [SnippetPiece]) {
        self.message = message
        self.snippet = snippet
    }
}

/// A piece of a snippet: text as it was written, nothing of it is markup.
public struct SnippetPiece: Codable, Sendable, Equatable {
    public var text: String
    /// It is what was looked for.
    public var isMatch: Bool

    public init(_ text: String, isMatch: Bool) {
        self.text = text
        self.isMatch = isMatch
    }

    private enum CodingKeys: String, CodingKey {
        case text
        case isMatch = "is_match"
    }
}
