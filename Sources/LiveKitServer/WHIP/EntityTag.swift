/// A strong entity tag (RFC 9110 §8.8.3), without its quotes.
package struct EntityTag: Sendable, Equatable {
    package let value: String

    static func random() -> EntityTag { EntityTag(value: [UInt8].random(8).hexadecimal) }

    package var header: String { "\"\(value)\"" }
}

/// What `If-Match` asks for (RFC 9110 §13.1.1).
package enum IfMatch: Sendable, Equatable {
    case any
    case one(of: [EntityTag])

    /// A longer header is no list of tags of ours.
    private static let longest = 4_096

    /// Nil when the header is malformed. Weak tags are left out: none matches where the comparison is strong.
    package init?(_ header: String) {
        let text = header.utf8
        guard text.count <= Self.longest else { return nil }
        var rest = Substring(header)
        Self.skipSpace(&rest)
        if rest.first == "*" {
            rest.removeFirst()
            Self.skipSpace(&rest)
            guard rest.isEmpty else { return nil }
            self = .any
            return
        }
        var tags: [EntityTag] = []
        var hasOne = false
        while !rest.isEmpty {
            // RFC 9110 §5.6.1: a list may have empty elements.
            if rest.first == "," {
                rest.removeFirst()
                Self.skipSpace(&rest)
                continue
            }
            let isWeak = rest.hasPrefix("W/")
            if isWeak { rest.removeFirst(2) }
            guard rest.first == "\"" else { return nil }
            rest.removeFirst()
            guard let end = rest.firstIndex(of: "\"") else { return nil }
            if !isWeak { tags.append(EntityTag(value: String(rest[..<end]))) }
            hasOne = true
            rest = rest[rest.index(after: end)...]
            Self.skipSpace(&rest)
            guard rest.isEmpty || rest.first == "," else { return nil }
        }
        guard hasOne else { return nil }
        // RFC 9725 §4.3.3: its examples have the asterisk in quotes. No tag of ours is called so.
        self = tags.contains(EntityTag(value: "*")) ? .any : .one(of: tags)
    }

    private static func skipSpace(_ text: inout Substring) {
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    }

    package func matches(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .one(let tags): tags.contains(tag)
        }
    }
}

extension [UInt8] {
    /// From the system's generator, which is fit for secrets.
    static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
