internal import RTCWire

/// Whose request it was.
struct Login: Sendable, Hashable {
    let username: String

    /// What the limits of one user count by: a time-limited name without its time, since the same user gets a new one
    /// every few hours.
    var quotaName: String {
        guard TimeLimitedCredential.expiry(of: username) != nil,
            let colon = username.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return username }
        return String(username[username.index(after: colon)...])
    }
}

/// A request whose credential was right.
struct Session: Sendable {
    let login: Login
    let password: String
    /// Signs the answer as the request was signed (RFC 8489 §9.2.4).
    let key: STUNIntegrityKey
}
