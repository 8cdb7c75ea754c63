internal import RTCWire

/// Who may use the server.
public struct TURNAccounts: Sendable {
    /// Names with a password that does not run out.
    public var users: [String: String] = [:]
    /// Secrets under which credentials are issued. The first one issues, each is accepted: so that one can be replaced
    /// without ending what was issued under it.
    public var secrets: [String] = []

    public init(users: [String: String] = [:], secrets: [String] = []) {
        self.users = users
        self.secrets = secrets
    }

    /// The passwords that this name could have at this time; none for a name that is unknown or has run out.
    func passwords(of username: String, unixTime: Int64) -> [String] {
        if let password = users[username] { return [password] }
        guard let expiry = TimeLimitedCredential.expiry(of: username), expiry > unixTime else { return [] }
        return secrets.map { TimeLimitedCredential.password(of: username, secret: $0) }
    }
}

extension TURNAccounts: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Shows nothing: these end up in logs otherwise.
    public var description: String { "TURNAccounts(hidden)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// A user name and password that a service issues for some hours, and a TURN server accepts without being told: the two
/// share a secret (draft-uberti-behave-turn-rest-00 §2.2, as coturn's `use-auth-secret` has it).
public struct TimeLimitedCredential: Sendable, Hashable {
    /// The time at which it runs out, in seconds since 1970, and the name of whoever it is for.
    public let username: String
    /// The Base64 of HMAC-SHA1 over the user name.
    public let password: String
    /// In seconds since 1970.
    public let expires: Int64

    /// - Parameters:
    ///   - name: tells one user from another for the limits of each; any text without meaning will do.
    ///   - unixTime: when it runs out, in seconds since 1970.
    public init(name: String, expires unixTime: Int64, secret: String) {
        username = "\(unixTime):\(name)"
        password = Self.password(of: username, secret: secret)
        expires = unixTime
    }

    static func password(of username: String, secret: String) -> String {
        let key = HMACSHA1(key: Array(secret.utf8))
        let name = Array(username.utf8)
        return Base64.encode(key.authenticate(name.span.bytes))
    }

    /// Nil for a name that does not begin with a time.
    static func expiry(of username: String) -> Int64? {
        let digits = username.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard (1...15).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - 48) }
    }
}

extension TimeLimitedCredential: CustomStringConvertible, CustomDebugStringConvertible {
    /// Without the password: it ends up in logs otherwise.
    public var description: String { "TimeLimitedCredential(until \(expires))" }
    public var debugDescription: String { description }
}
