/// Walks JSON text (RFC 8259) without building values: it checks the grammar and tells where each value ends.
///
/// What one client sends is passed on to others byte for byte, so this check is what keeps one client's broken
/// text from breaking another client's parser.
struct JSONScanner: ~Escapable {
    /// Deeper nesting is refused: no peer needs it, and every parser behind us recurses.
    static let depthLimit = 128

    fileprivate let bytes: Span<UInt8>
    /// The next byte to look at.
    fileprivate(set) var position: Int

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    /// The byte at the position, nil at the end.
    var next: UInt8? { position >= 0 && position < bytes.count ? bytes[position] : nil }

    /// RFC 8259 §2: space, tab, line feed, carriage return.
    mutating func skipWhitespace() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    /// Steps over `byte` if it is the next one.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Steps over one value, whatever its kind; false if the text is not JSON.
    mutating func skipValue(depth: Int = 0) -> Bool {
        guard depth <= Self.depthLimit, let byte = next else { return false }
        switch byte {
        case UInt8(ascii: "\""): return skipString()
        case UInt8(ascii: "{"): return skipObject(depth: depth)
        case UInt8(ascii: "["): return skipArray(depth: depth)
        case UInt8(ascii: "t"): return skipWord("true")
        case UInt8(ascii: "f"): return skipWord("false")
        case UInt8(ascii: "n"): return skipWord("null")
        default: return skipNumber()
        }
    }

    private mutating func skipWord(_ word: StaticString) -> Bool {
        for index in 0..<word.utf8CodeUnitCount where !skip(word.utf8Start[index]) { return false }
        return true
    }

    private mutating func skipObject(depth: Int) -> Bool {
        position += 1
        skipWhitespace()
        if skip(UInt8(ascii: "}")) { return true }
        while true {
            skipWhitespace()
            guard skipString() else { return false }
            skipWhitespace()
            guard skip(UInt8(ascii: ":")) else { return false }
            skipWhitespace()
            guard skipValue(depth: depth + 1) else { return false }
            skipWhitespace()
            if skip(UInt8(ascii: ",")) { continue }
            return skip(UInt8(ascii: "}"))
        }
    }

    private mutating func skipArray(depth: Int) -> Bool {
        position += 1
        skipWhitespace()
        if skip(UInt8(ascii: "]")) { return true }
        while true {
            skipWhitespace()
            guard skipValue(depth: depth + 1) else { return false }
            skipWhitespace()
            if skip(UInt8(ascii: ",")) { continue }
            return skip(UInt8(ascii: "]"))
        }
    }

    /// RFC 8259 §6: no leading zeros, no leading plus, digits on both sides of the point.
    private mutating func skipNumber() -> Bool {
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) {
            guard skipDigits() else { return false }
        }
        if skip(UInt8(ascii: ".")) {
            guard skipDigits() else { return false }
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            guard skipDigits() else { return false }
        }
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = position
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        return position > start
    }

    /// RFC 8259 §7, and the bytes have to be UTF-8 (§8.1). Lone surrogates in `\u` escapes pass: JavaScript
    /// produces and accepts them.
    mutating func skipString() -> Bool {
        guard skip(UInt8(ascii: "\"")) else { return false }
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return true
            case UInt8(ascii: "\\"):
                position += 1
                guard skipEscape() else { return false }
            case 0..<0x20: return false
            case 0x20..<0x80: position += 1
            default:
                guard skipMultibyte() else { return false }
            }
        }
        return false
    }

    private mutating func skipEscape() -> Bool {
        guard let byte = next else { return false }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return true
        case UInt8(ascii: "u"):
            for _ in 0..<4 {
                guard let digit = next, Character(UnicodeScalar(digit)).isHexDigit else { return false }
                position += 1
            }
            return true
        default: return false
        }
    }

    /// RFC 3629 §4.
    private mutating func skipMultibyte() -> Bool {
        guard let lead = next, let (length, second) = UTF8Check.form(lead), length > 1 else { return false }
        position += 1
        guard let byte = next, second.contains(byte) else { return false }
        position += 1
        for _ in 2..<length {
            guard let byte = next, (0x80...0xbf).contains(byte) else { return false }
            position += 1
        }
        return true
    }
}

extension JSONScanner {
    /// Steps over a value that is known to be JSON; false if a placeholder in it refers to none of `count` attachments.
    /// One pass, however deep the value is: each byte is looked at once.
    mutating func skipPlaceholders(count: Int) -> Bool {
        switch next {
        case UInt8(ascii: "{"): return skipPlaceholders(inObject: count)
        case UInt8(ascii: "["):
            position += 1
            while true {
                skipSeparators()
                if skip(UInt8(ascii: "]")) { return true }
                guard skipPlaceholders(count: count) else { return false }
            }
        default: return skipValue()
        }
    }

    private mutating func skipPlaceholders(inObject count: Int) -> Bool {
        position += 1
        // The last of several values of a key counts, as JavaScript reads it.
        var isPlaceholder = false
        var number: Int?
        while true {
            skipSeparators()
            if skip(UInt8(ascii: "}")) { return !isPlaceholder || number.map { $0 >= 0 && $0 < count } ?? false }
            guard let key = takeKey() else { return false }
            let start = position
            guard skipPlaceholders(count: count) else { return false }
            switch key {
            case .placeholder: isPlaceholder = bytes[start] == UInt8(ascii: "t")
            case .number: number = text(start..<position).int
            case .other: break
            }
        }
    }

    private enum Key {
        case placeholder, number, other
    }

    /// Steps over a key and its colon.
    private mutating func takeKey() -> Key? {
        let start = position
        guard skipString() else { return nil }
        let end = position
        skipWhitespace()
        guard skip(UInt8(ascii: ":")) else { return nil }
        skipWhitespace()
        // Without an escape only these lengths can be meant; with escapes each letter may take six bytes.
        guard (5...74).contains(end - start) else { return .other }
        switch text(start..<end).string {
        case "_placeholder": return .placeholder
        case "num": return .number
        default: return .other
        }
    }

    private mutating func skipSeparators() {
        skipWhitespace()
        _ = skip(UInt8(ascii: ","))
        skipWhitespace()
    }

    private func text(_ range: Range<Int>) -> RawJSON {
        RawJSON(checked: range.map { bytes[$0] }[...])
    }
}
