internal import Synchronization

/// The server as people reach it. Where nobody has said what that is, it is known once the server listens.
final class PublicURL: Sendable {
    private let value: Mutex<String>

    init(_ text: String) { value = Mutex(text) }

    /// Without a last `/`: `https://chat.example.org`.
    var text: String { value.withLock { $0 } }

    func set(_ text: String) { value.withLock { $0 = text } }
}
