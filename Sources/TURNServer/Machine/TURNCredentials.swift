/// What clients log in with to a TURN server that others run, too.
public enum TURNCredentials: Sendable {
    /// The server knows this secret (coturn's `static-auth-secret`): every client gets a name and a password of its
    /// own, for some time.
    case secret(String)
    /// The same for all, for good.
    case fixed(username: String, password: String)

    /// What one client is told.
    ///
    /// - Parameters:
    ///   - name: tells one client from another; any text without meaning will do.
    ///   - unixTime: when it runs out, if it does, in seconds since 1970.
    public func issue(name: String, expires unixTime: Int64) -> (username: String, password: String) {
        switch self {
        case .secret(let secret):
            let issued = TimeLimitedCredential(name: name, expires: unixTime, secret: secret)
            return (issued.username, issued.password)
        case .fixed(let username, let password): return (username, password)
        }
    }
}

extension TURNCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Shows nothing: these end up in logs otherwise.
    public var description: String { "TURNCredentials(hidden)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
