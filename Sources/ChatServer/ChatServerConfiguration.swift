package import ChatCore

/// How a server's chat is to be.
package struct ChatServerConfiguration: Sendable {
    /// Whether anybody may make an account; otherwise only who is invited, and the first one.
    package var isRegistrationOpen = true
    /// As people reach the server, for links in letters.
    package var serverURL = "http://localhost:8080"
    /// As people reach the server, where that was said; nil to take it from what they ask.
    package var publicURL: String?
    /// Whether they reach it over TLS, where it was not said.
    package var isSecure = false
    /// Web pages of these origins may open the realtime socket, besides the server's own.
    package var origins: Set<String> = []
    /// How notifications reach devices of Apple's; nil for none.
    package var push: APNsConfiguration?
    package var limits = Limits()
    /// What a guess at a password costs: the binary logarithm of scrypt's N. Time and memory double with each step.
    package var passwordCost = Self.usualPasswordCost
    /// One of OWASP's choices: with less, passwords are guessed too easily from a copy of the database.
    package static let usualPasswordCost: UInt64 = 15
    package var lifetimes = Lifetimes()

    /// Where files are; nil to take none.
    package var fileStore: (any FileStore)?
    /// Makes thumbnails; nil to make none.
    package var thumbnailer: Thumbnailer?
    /// Where a picture is while it is looked into; nil for a folder among those for temporary files.
    package var pictureFolder: String?

    /// Nil for a server that is alone.
    package var nodes: NodesConfiguration?

    package init() {}
}
