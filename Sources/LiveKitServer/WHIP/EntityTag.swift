/// A strong entity tag (RFC 9110 §8.8.3), without its quotes.
struct EntityTag: Sendable, Equatable {
    let value: String

    static func random() -> EntityTag { EntityTag(value: [UInt8].random(8).hexadecimal) }

    var header: String { "\"\(value)\"" }
}

/// What `If-Match` asks for (RFC 9110 §13.1.1).
enum IfMatch: Equatable {
    case any
    case one(of: [EntityTag])

    /// A longer header is no list of tags of ours.
    private static let longest = 4_096

    /// Nil when the header is malformed. Weak tags are left out: none matches where the comparison is strong.
    init?(_ header: String) {
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
        self = .one(of: tags)
    }

    private static func skipSpace(_ text: inout Substring) {
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    }

    func matches(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .one(let tags): tags.contains(tag)
        }
    }
}
