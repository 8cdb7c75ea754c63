internal import ChatCore
internal import ChatModel
internal import LiveKitProtocol

/// Links to files for whoever has them, signed with a key of this server's own.
struct FileLinks: Sendable {
    /// Of at least 32 bytes.
    let key: [UInt8]

    /// A path on this server.
    func path(to object: StoredObject, until end: Timestamp) -> String {
        let seconds = end.milliseconds / 1_000
        let part = object.part == .thumbnail ? "thumbnail=true&" : ""
        return "\(ChatServer.path)/files/\(object.id)/content?\(part)expires=\(seconds)&signature="
            + signature(of: object, seconds)
    }

    /// - Throws: `ChatError` for a link that this server has not made, and for one that is too old.
    func check(
        _ object: StoredObject, expires: String?, signature: String?, at now: Timestamp
    ) throws(ChatError) {
        // Of a number that is written in another way the signature is not right, either.
        guard let expires, let seconds = Int64(expires), "\(seconds)" == expires, let signature,
            SHA256.areEqual(Array(self.signature(of: object, seconds).utf8), Array(signature.utf8))
        else { throw .forbidden("bad_link", "This link is not one of this server's.") }
        guard now.milliseconds / 1_000 < seconds else {
            throw ChatError(.gone, code: "link_over", "This link is too old: ask for another one.")
        }
    }

    /// What is signed names its purpose, so that no other text with this key is taken for it.
    private func signature(of object: StoredObject, _ seconds: Int64) -> String {
        let part =
            switch object.part {
            case .content: "content"
            case .thumbnail: "thumbnail"
            }
        let text = "file link\n\(object.id)\n\(part)\n\(seconds)"
        let code = SHA256.authenticationCode(of: Array(text.utf8), key: key)
        // Nothing is signed with what nobody has computed.
        return code.map { Base64.encodeForToken($0) } ?? Secret.random().text
    }
}
