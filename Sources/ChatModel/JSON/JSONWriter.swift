internal import Foundation

/// Writes JSON: the text that `JSONEncoder` writes with `.sortedKeys` and `.withoutEscapingSlashes`, at a small part of
/// its cost. It is for what is asked for most, which are messages and what is in them.
///
/// Whoever writes members writes them in the order of their names' bytes.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// What a value is in JSON: as it writes itself, or as `JSONEncoder` has it.
    ///
    /// - Throws: what `JSONEncoder` throws.
    package static func json(_ value: any Encodable) throws -> [UInt8] {
        if let value = value as? any JSONWritable {
            var writer = JSONWriter()
            value.write(to: &writer)
            return writer.bytes
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }

    // MARK: Objects and arrays

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        members(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    /// Nothing for nil.
    package mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
        guard let value else { return }
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        value.write(to: &self)
    }

    mutating func array(_ items: some Sequence<some JSONWritable>) {
        bytes.append(UInt8(ascii: "["))
        for item in items {
            separate()
            item.write(to: &self)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// A comma, except in front of the first: no value ends in an opening bracket.
    private mutating func separate() {
        switch bytes.last {
        case UInt8(ascii: "{"), UInt8(ascii: "["): break
        default: bytes.append(UInt8(ascii: ","))
        }
    }

    // MARK: Values

    /// A text of ASCII that has nothing to escape: a number, or in quotes a name of ours.
    mutating func plain(_ text: String, isQuoted: Bool) {
        if isQuoted { bytes.append(UInt8(ascii: "\"")) }
        bytes.append(contentsOf: text.utf8)
        if isQuoted { bytes.append(UInt8(ascii: "\"")) }
    }

    /// RFC 8259 §7: quotation marks, backslashes and control characters are escaped, and nothing else.
    mutating func string(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { text in
            var start = 0
            for (place, byte) in text.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: text[start..<place])
                escape(byte)
                start = place + 1
            }
            bytes.append(contentsOf: text[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(Hexadecimal.digit(byte >> 4))
            bytes.append(Hexadecimal.digit(byte & 15))
        }
    }
}

/// What writes itself as JSON: the same that its `Encodable` says.
package protocol JSONWritable: Encodable {
    func write(to json: inout JSONWriter)
}

extension String: JSONWritable {
    package func write(to json: inout JSONWriter) { json.string(self) }
}

extension Int64: JSONWritable {
    package func write(to json: inout JSONWriter) { json.plain(String(self), isQuoted: false) }
}

extension Int: JSONWritable {
    package func write(to json: inout JSONWriter) { json.plain(String(self), isQuoted: false) }
}

extension Bool: JSONWritable {
    package func write(to json: inout JSONWriter) { json.plain(self ? "true" : "false", isQuoted: false) }
}

extension Array: JSONWritable where Element: JSONWritable {
    package func write(to json: inout JSONWriter) { json.array(self) }
}

extension JSONWritable where Self: RawRepresentable<String> {
    package func write(to json: inout JSONWriter) { json.string(rawValue) }
}

extension Identifier: JSONWritable {
    package func write(to json: inout JSONWriter) { json.plain(description, isQuoted: true) }
}

extension Timestamp: JSONWritable {
    package func write(to json: inout JSONWriter) { json.plain(description, isQuoted: true) }
}

extension Cursor: JSONWritable {
    package func write(to json: inout JSONWriter) { json.string(text) }
}

enum Hexadecimal {
    /// In lower case.
    ///
    /// - Parameter value: below 16.
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
