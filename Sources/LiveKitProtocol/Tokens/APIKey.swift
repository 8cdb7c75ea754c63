/// Who may sign tokens: a name, which every token carries, and the secret that signs.
package struct APIKey: Sendable, Equatable {
    /// RFC 7518 §3.2: a key for HS256 is at least as long as its digest.
    package static let shortestSecret = 32

    /// The key's name, which is no secret: the token's issuer.
    package let id: String
    let secret: [UInt8]

    /// Takes a secret of any length but none. A short one can be guessed from a single token: that is for development.
    package init(_ id: String, secret: String, allowsShortSecret: Bool = false) throws(APIKeyProblem) {
        try self.init(id, secret: Array(secret.utf8), allowsShortSecret: allowsShortSecret)
    }

    init(_ id: String, secret: [UInt8], allowsShortSecret: Bool = false) throws(APIKeyProblem) {
        guard !id.isEmpty else { throw .noName }
        guard !secret.isEmpty else { throw .noSecret(key: id) }
        guard allowsShortSecret || secret.count >= Self.shortestSecret else {
            throw .shortSecret(key: id, bytes: secret.count)
        }
        self.id = id
        self.secret = secret
    }
}

/// Says who it is, and never the secret.
extension APIKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "API key \(id)" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// Why keys cannot be used. For whoever configures the server.
package enum APIKeyProblem: Error, Equatable {
    case noName
    case noSecret(key: String)
    case shortSecret(key: String, bytes: Int)
    case repeated(key: String)
}

extension APIKeyProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noName: "An API key needs a name."
        case .noSecret(let key): "The API key \(key) has no secret."
        case .shortSecret(let key, let bytes):
            "The secret of the API key \(key) has \(bytes) bytes and needs at least \(APIKey.shortestSecret), so that "
                + "nobody can guess it."
        case .repeated(let key): "There are two API keys with the name \(key)."
        }
    }
}

/// The keys that a server knows, by their names.
package struct APIKeys: Sendable, Equatable {
    private let keys: [String: APIKey]

    package init(_ keys: [APIKey]) throws(APIKeyProblem) {
        var named: [String: APIKey] = [:]
        for key in keys {
            guard named.updateValue(key, forKey: key.id) == nil else { throw .repeated(key: key.id) }
        }
        self.keys = named
    }

    package init(_ key: APIKey) { keys = [key.id: key] }

    package subscript(id: String) -> APIKey? { keys[id] }
}
