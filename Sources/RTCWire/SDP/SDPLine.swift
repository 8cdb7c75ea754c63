/// One line that is kept as it came, so that what we do not understand survives a round trip in its place.
public enum SDPLine: Hashable, Sendable {
    /// `a=name` or `a=name:value` (RFC 8866 §5.13).
    case attribute(SDPAttribute)
    /// Any other line: its letter and its value.
    case other(type: Character, value: String)

    /// The letter before `=`.
    public var type: Character {
        switch self {
        case .attribute: "a"
        case .other(let type, _): type
        }
    }

    /// The line without its end.
    public var text: String {
        switch self {
        case .attribute(let attribute): "a=\(attribute.text)"
        case .other(let type, let value): "\(type)=\(value)"
        }
    }

    /// The letter before `=` and what is behind it (RFC 8866 §9, `byte-string`).
    package static func cut(_ line: Substring) throws(SDPError.Reason) -> (type: Character, value: Substring) {
        var bytes = line.utf8
        guard let letter = bytes.popFirst(), (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter),
            bytes.popFirst() == UInt8(ascii: "=")
        else { throw .notALine }
        let value = Substring(bytes)
        guard value.isSDPByteString else { throw .forbiddenCharacter }
        return (Character(Unicode.Scalar(letter)), value)
    }
}

/// An attribute as it stands in the text.
public struct SDPAttribute: Hashable, Sendable {
    public var name: String
    /// What follows the colon; nil when there is no colon (a property attribute).
    public var value: String?

    public init(_ name: String, _ value: String? = nil) {
        self.name = name
        self.value = value
    }

    /// `name` or `name:value`.
    public var text: String {
        guard let value else { return name }
        return "\(name):\(value)"
    }
}
