/// How the key of a long-term credential is made from the password (RFC 8489 §18.5).
public enum STUNPasswordAlgorithm: UInt16, Hashable, Sendable, CaseIterable {
    case md5 = 0x0001
    case sha256 = 0x0002
}

/// What signs a message, and checks the signature of its answer.
public enum STUNIntegrityKey: Sendable {
    /// MESSAGE-INTEGRITY (RFC 8489 §14.5).
    case sha1(HMACSHA1)
    /// MESSAGE-INTEGRITY-SHA256 (§14.6).
    case sha256(HMACSHA256)
}

/// A user name and password for one realm (RFC 8489 §9.2). The texts are taken as they are: OpaqueString preparation
/// leaves ASCII alone, and whoever has other characters gives them composed (NFC).
public struct STUNLongTermCredential: Sendable {
    public var username: String
    public var realm: String
    private let password: String

    public init(username: String, realm: String, password: String) {
        self.username = username
        self.realm = realm
        self.password = password
    }

    /// RFC 8489 §9.2.2, §18.5.1: the hash of `username:realm:password`.
    public func key(_ algorithm: STUNPasswordAlgorithm) -> [UInt8] {
        let text = Array("\(username):\(realm):\(password)".utf8)
        return switch algorithm {
        case .md5: MD5.digest(of: text)
        case .sha256: SHA256.digest(of: text)
        }
    }

    /// USERHASH (RFC 8489 §14.4): stands for the user name where the server keeps names secret.
    public var userHash: [UInt8] { SHA256.digest(of: Array("\(username):\(realm)".utf8)) }
}

extension STUNLongTermCredential: CustomStringConvertible, CustomDebugStringConvertible {
    /// Shows nothing: these end up in logs otherwise.
    public var description: String { "STUNLongTermCredential(hidden)" }
    public var debugDescription: String { description }
}

/// What a server says of itself at the beginning of a nonce (RFC 8489 §9.2): an attacker in the middle cannot take it
/// away, since the nonce comes back signed.
public struct STUNNonceCookie: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// §18.1. Counted from the right of the 24 bits, as in the example of appendix B.1, whose `AAAC` says that names
    /// are secret.
    public static let passwordAlgorithms = STUNNonceCookie(rawValue: 1 << 0)
    public static let usernameAnonymity = STUNNonceCookie(rawValue: 1 << 1)

    /// What a nonce begins with that has a cookie; the 24 bits follow in Base64.
    public static let mark = Array("obMatJos2".utf8)

    /// Empty for a nonce that has no cookie.
    public init(nonce: [UInt8]) {
        self.init(rawValue: 0)
        guard nonce.count >= Self.mark.count + 4, nonce.starts(with: Self.mark) else { return }
        var bits: UInt32 = 0
        for character in nonce[Self.mark.count..<Self.mark.count + 4] {
            guard let value = Base64.value(of: character) else { return }
            bits = bits << 6 | UInt32(value)
        }
        self.init(rawValue: bits)
    }
}
