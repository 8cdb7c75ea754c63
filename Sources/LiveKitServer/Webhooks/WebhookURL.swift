internal import SocketIO

/// Where events are posted: `http` or `https`.
package struct WebhookURL: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// Nil for what is no such URL.
    package init?(_ text: String) {
        guard HTTPPoster.canPost(to: text), text.hasPrefix("http") else { return nil }
        description = text
    }
}
