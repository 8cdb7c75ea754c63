package import ChatCore

/// How a server's chat is to be.
package struct ChatServerConfiguration: Sendable {
    /// Whether anybody may make an account; otherwise only who is invited, and the first one.
    package var isRegistrationOpen = true
    /// As people reach the server, for links in letters.
    package var serverURL = "http://localhost:8080"
    /// Web pages of these origins may open the realtime socket, besides the server's own.
    package var origins: Set<String> = []
    package var limits = Limits()
    package var lifetimes = Lifetimes()

    /// Where files are; nil to take none.
    package var fileStore: (any FileStore)?
    /// Makes thumbnails; nil to make none.
    package var thumbnailer: Thumbnailer?

    package init() {}
}
