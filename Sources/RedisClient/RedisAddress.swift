internal import Foundation

/// Where a Redis server is: `redis://[user[:password]@]host[:port][/database]`, or `rediss://` for TLS, with the
/// server's certificate checked. Percent encoding is undone (RFC 3986 §2.1), IPv6 addresses are in brackets (§3.2.2).
package struct RedisAddress: Sendable {
    /// A name or an address, without brackets.
    package var host: String
    /// 6379 unless said otherwise, for TLS as well.
    package var port: Int
    /// The number of the database, for `SELECT`; 0 unless said otherwise.
    package var database: Int
    /// The user of Redis's access lists; nil means Redis's `default`.
    package var username: String?
    package var password: String?
    /// Whether TLS is spoken.
    package var isSecure: Bool

    /// - Throws: `RedisFault.badAddress`, which says what is wrong and repeats nothing of the text.
    package init(_ url: String) throws(RedisFault) {
        guard let schemeEnd = url.firstRange(of: "://") else {
            throw .badAddress("it does not begin with redis:// or rediss://")
        }
        switch url[..<schemeEnd.lowerBound].lowercased() {
        case "redis": isSecure = false
        case "rediss": isSecure = true
        default: throw .badAddress("it does not begin with redis:// or rediss://")
        }
        let rest = url[schemeEnd.upperBound...]
        guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
            throw .badAddress("? and # have no place in it; in a password they are %3F and %23")
        }
        let authority = rest.prefix { $0 != "/" }
        var place = authority
        if let at = authority.lastIndex(of: "@") {
            (username, password) = try Self.user(authority[..<at])
            place = authority[authority.index(after: at)...]
        }
        (host, port) = try Self.place(place)
        database = try Self.database(rest[authority.endIndex...])
    }

    /// RFC 3986 §3.2.1; a password without a user is that of Redis's `default`.
    private static func user(_ text: Substring) throws(RedisFault) -> (String?, String?) {
        let name = text.prefix { $0 != ":" }
        let username = name.isEmpty ? nil : try decoded(name)
        guard name.endIndex < text.endIndex else { return (username, nil) }
        return (username, try decoded(text[name.endIndex...].dropFirst()))
    }

    private static func place(_ text: Substring) throws(RedisFault) -> (host: String, port: Int) {
        var host = text.prefix { $0 != ":" }
        var rest = text[host.endIndex...]
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw .badAddress("a bracket is not closed") }
            host = text[..<end].dropFirst()
            rest = text[end...].dropFirst()
            guard host.contains(":") else { throw .badAddress("brackets are for addresses of IPv6") }
        }
        guard !host.isEmpty else { throw .badAddress("the host is missing") }
        guard !rest.isEmpty else { return (try decoded(host), 6379) }
        let digits = rest.dropFirst()
        guard rest.hasPrefix(":"), let port = number(digits), (1...65_535).contains(port) else {
            throw .badAddress("its port is no number in 1...65535")
        }
        return (try decoded(host), port)
    }

    private static func database(_ path: Substring) throws(RedisFault) -> Int {
        guard path.count > 1 else { return 0 }
        guard let database = number(path.dropFirst()) else {
            throw .badAddress("what follows the host is no number of a database")
        }
        return database
    }

    private static func number(_ digits: Substring) -> Int? {
        digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(digits) : nil
    }

    private static func decoded(_ text: Substring) throws(RedisFault) -> String {
        guard let decoded = text.removingPercentEncoding else { throw .badAddress("its percent encoding is broken") }
        return decoded
    }
}

extension RedisAddress: CustomStringConvertible {
    /// For people: without user and password.
    package var description: String {
        let place = host.contains(":") ? "[\(host)]" : host
        return "\(isSecure ? "rediss" : "redis")://\(place):\(port)" + (database == 0 ? "" : "/\(database)")
    }
}
