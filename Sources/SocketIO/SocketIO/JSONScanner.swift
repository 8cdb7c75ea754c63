/// Walks JSON text (RFC 8259) without building values: it checks the grammar and tells where each value ends.
///
/// What one client sends is passed on to others byte for byte, so this check is what keeps one client's broken
/// text from breaking another client's parser.
struct JSONScanner: ~Escapable {
    /// Deeper nesting is refused: no peer needs it, and every parser behind us recurses.
    static let depthLimit = 128

    private let bytes: Span<UInt8>
    /// The next byte to look at.
    private(set) var position: Int

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

    /// RFC 3629 §4: shortest forms only, no surrogates, nothing above U+10FFFF.
    private mutating func skipMultibyte() -> Bool {
        guard let lead = next else { return false }
        let count: Int
        let second: ClosedRange<UInt8>
        switch lead {
        case 0xc2...0xdf: (count, second) = (1, 0x80...0xbf)
        case 0xe0: (count, second) = (2, 0xa0...0xbf)
        case 0xed: (count, second) = (2, 0x80...0x9f)
        case 0xe1...0xef: (count, second) = (2, 0x80...0xbf)
        case 0xf0: (count, second) = (3, 0x90...0xbf)
        case 0xf4: (count, second) = (3, 0x80...0x8f)
        case 0xf1...0xf3: (count, second) = (3, 0x80...0xbf)
        default: return false
        }
        position += 1
        guard let byte = next, second.contains(byte) else { return false }
        position += 1
        for _ in 1..<count {
            guard let byte = next, (0x80...0xbf).contains(byte) else { return false }
            position += 1
        }
        return true
    }
}
