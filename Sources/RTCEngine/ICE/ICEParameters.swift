/// The short-term credential of one agent for one generation of ICE (RFC 8839 §5.4).
public struct ICEParameters: Hashable, Sendable {
    public var usernameFragment: String
    public var password: String

    public init(usernameFragment: String, password: String) {
        self.usernameFragment = usernameFragment
        self.password = password
    }

    /// A fresh credential: 48 bits of name and 144 of password (RFC 8445 §5.3 asks for 24 and 128).
    init(using random: inout EngineRandom) {
        self.init(usernameFragment: random.iceCharacters(8), password: random.iceCharacters(24))
    }
}

extension ICEParameters: CustomStringConvertible, CustomDebugStringConvertible {
    /// Shows nothing: these end up in logs otherwise.
    public var description: String { "ICEParameters(hidden)" }
    public var debugDescription: String { description }
}
