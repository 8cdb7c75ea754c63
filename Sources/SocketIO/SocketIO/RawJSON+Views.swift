extension RawJSON {
    /// The kinds of JSON value.
    public enum Kind: Hashable, Sendable {
        case null, bool, number, string, array, object
    }

    /// Which kind of value this is.
    public var kind: Kind {
        switch bytes.first {
        case UInt8(ascii: "n"): .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "{"): .object
        default: .number
        }
    }

    /// The text of a JSON string with its escapes resolved; nil for another kind. A lone surrogate escape becomes
    /// U+FFFD, since a Swift string cannot hold it.
    public var string: String? {
        guard kind == .string else { return nil }
        let body = bytes.dropFirst().dropLast()
        guard body.contains(UInt8(ascii: "\\")) else { return String(decoding: body, as: UTF8.self) }
        return Self.unescape(body)
    }

    /// `true` or `false`; nil for another kind.
    public var bool: Bool? {
        switch bytes.first {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// A number without fraction or exponent that fits; nil otherwise.
    public var int: Int? { kind == .number ? Int(text) : nil }

    /// A number; nil for another kind.
    public var double: Double? { kind == .number ? Double(text) : nil }

    /// The elements of an array, each as its own text; nil for another kind.
    public var elements: [RawJSON]? {
        guard kind == .array else { return nil }
        var elements: [RawJSON] = []
        forEachMember { _, value in
            elements.append(value)
            return true
        }
        return elements
    }

    /// The members of an object in the order in which they stand, each value as its own text; a key may be there more
    /// than once. Nil for another kind.
    public var members: [(key: String, value: RawJSON)]? {
        guard kind == .object else { return nil }
        var members: [(key: String, value: RawJSON)] = []
        forEachMember { key, value in
            if let key = key?.string { members.append((key, value)) }
            return true
        }
        return members
    }

    /// The value of a key of an object, the last one if it is there twice (as JavaScript reads it); nil if the
    /// key is missing or this is no object.
    public subscript(key: String) -> RawJSON? {
        guard kind == .object else { return nil }
        var found: RawJSON?
        forEachMember { name, value in
            if name?.string == key { found = value }
            return true
        }
        return found
    }

    /// Visits the members of an object (with keys) or the elements of an array (without) until `body` is false.
    func forEachMember(_ body: (_ key: RawJSON?, _ value: RawJSON) -> Bool) {
        let isObject = kind == .object
        guard isObject || kind == .array else { return }
        var position = 1
        while let member = member(at: position, isObject: isObject) {
            guard body(member.key, member.value) else { return }
            position = member.end
        }
    }

    private func member(at start: Int, isObject: Bool) -> (key: RawJSON?, value: RawJSON, end: Int)? {
        var scanner = JSONScanner(bytes.span, at: start)
        scanner.skipWhitespace()
        _ = scanner.skip(UInt8(ascii: ","))
        scanner.skipWhitespace()
        var key: RawJSON?
        if isObject {
            let keyStart = scanner.position
            guard scanner.skipString() else { return nil }
            key = RawJSON(checked: bytes.part(keyStart..<scanner.position))
            scanner.skipWhitespace()
            guard scanner.skip(UInt8(ascii: ":")) else { return nil }
            scanner.skipWhitespace()
        }
        let valueStart = scanner.position
        guard scanner.skipValue() else { return nil }
        return (key, RawJSON(checked: bytes.part(valueStart..<scanner.position)), scanner.position)
    }

    /// Resolves the escapes of a checked string body (RFC 8259 §7).
    private static func unescape(_ body: ArraySlice<UInt8>) -> String {
        var units: [UInt16] = []
        units.reserveCapacity(body.count)
        var plain: [UInt8] = []
        var iterator = body.makeIterator()
        func flush() {
            guard !plain.isEmpty else { return }
            units.append(contentsOf: String(decoding: plain, as: UTF8.self).utf16)
            plain.removeAll(keepingCapacity: true)
        }
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "\\"), let escaped = iterator.next() else {
                plain.append(byte)
                continue
            }
            switch escaped {
            case UInt8(ascii: "b"): plain.append(0x08)
            case UInt8(ascii: "f"): plain.append(0x0c)
            case UInt8(ascii: "n"): plain.append(0x0a)
            case UInt8(ascii: "r"): plain.append(0x0d)
            case UInt8(ascii: "t"): plain.append(0x09)
            case UInt8(ascii: "u"):
                flush()
                var unit: UInt16 = 0
                for _ in 0..<4 {
                    guard let digit = iterator.next() else { break }
                    unit = unit << 4 | UInt16(Character(UnicodeScalar(digit)).hexDigitValue ?? 0)
                }
                units.append(unit)
            default: plain.append(escaped)
            }
        }
        flush()
        return String(decoding: units, as: UTF16.self)
    }
}
