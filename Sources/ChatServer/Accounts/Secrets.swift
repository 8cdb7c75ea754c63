internal import ChatCore
internal import COpenSSL
internal import LiveKitProtocol

/// What is given out once, and known again by its hash: refresh tokens, and the secrets of links.
struct Secret: Sendable {
    let text: String

    /// A new one, of 32 bytes that nobody can guess.
    static func random() -> Secret {
        var generator = SystemRandomNumberGenerator()
        return Secret(
            text: Base64.encodeForToken((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))
    }

    init(text: String) { self.text = text }

    var hash: SecretHash { SecretHash(SHA256.digest(of: Array(text.utf8))) }
}
