#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One JSON value as the text that was sent: number forms, key order, unknown keys, white space and escapes stay
/// byte for byte. Views (`string`, `["key"]`, `decode`) read it without changing it.
///
/// The text is always well-formed: every initialiser checks it.
public struct RawJSON: Sendable {
    /// The text's bytes (UTF-8). They share the storage of the packet they came in.
    public let bytes: ArraySlice<UInt8>

    /// `bytes` hold one checked value without white space around it.
    init(checked bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    /// Checks that `bytes` are one JSON value (RFC 8259) in UTF-8; nil otherwise. White space around it is cut.
    public init?(_ bytes: ArraySlice<UInt8>) {
        var scanner = JSONScanner(bytes.span)
        scanner.skipWhitespace()
        let start = scanner.position
        guard scanner.skipValue() else { return nil }
        let end = scanner.position
        scanner.skipWhitespace()
        guard scanner.position == bytes.count else { return nil }
        self.init(checked: bytes.part(start..<end))
    }

    /// Checks that `bytes` are one JSON value; nil otherwise.
    public init?(_ bytes: [UInt8]) {
        self.init(bytes[...])
    }

    /// Checks that `text` is one JSON value; nil otherwise.
    public init?(_ text: String) {
        self.init(Array(text.utf8)[...])
    }

    /// The JSON text of a value, by `JSONEncoder`.
    public init(encoding value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        self.init(checked: Array(try encoder.encode(value))[...])
    }

    /// A JSON string.
    public init(string: some StringProtocol) {
        var bytes: [UInt8] = []
        bytes.appendJSONString(string)
        self.init(checked: bytes[...])
    }

    /// A JSON number.
    public init(_ number: Int) {
        self.init(checked: Array(String(number).utf8)[...])
    }

    /// `true` or `false`.
    public init(_ flag: Bool) {
        self.init(checked: Array((flag ? "true" : "false").utf8)[...])
    }

    /// `null`.
    public static let null = RawJSON(checked: Array("null".utf8)[...])

    /// An object from keys and values, in this order.
    public init(object members: KeyValuePairs<String, RawJSON>) {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.appendJSONString(member.key)
            bytes.append(UInt8(ascii: ":"))
            bytes += member.value.bytes
        }
        bytes.append(UInt8(ascii: "}"))
        self.init(checked: bytes[...])
    }

    /// An array of values.
    public init(array elements: [RawJSON]) {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += element.bytes
        }
        bytes.append(UInt8(ascii: "]"))
        self.init(checked: bytes[...])
    }

    /// The text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
    /// How many bytes the text has.
    public var count: Int { bytes.count }

    /// The value as a `Decodable`, by `JSONDecoder`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}

extension RawJSON: Hashable {
    /// Equal texts, not equal values: `1.0` is not `1`.
    public static func == (lhs: RawJSON, rhs: RawJSON) -> Bool { lhs.bytes == rhs.bytes }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension RawJSON: CustomStringConvertible {
    public var description: String { text }
}

extension ArraySlice {
    /// The elements at offsets counted from the slice's own start.
    func part(_ offsets: Range<Int>) -> ArraySlice {
        self[(startIndex + offsets.lowerBound)..<(startIndex + offsets.upperBound)]
    }
}

extension [UInt8] {
    /// Appends `text` as a JSON string (RFC 8259 §7): quotes, backslashes and control characters are escaped,
    /// everything else stays UTF-8.
    mutating func appendJSONString(_ text: some StringProtocol) {
        append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case UInt8(ascii: "\n"): append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                append(contentsOf: "\\u00".utf8)
                append(digits[Int(byte >> 4)])
                append(digits[Int(byte & 15)])
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }
}
