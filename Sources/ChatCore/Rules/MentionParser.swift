/// Finds whom a message names: `@username`, `@channel` (or `@everyone`, `@all`) and `@here`, outside of Markdown's
/// code.
package struct MentionParser: Sendable, Equatable {
    /// In the order in which they stand, each once, with all the signs that a name can have.
    package private(set) var usernames: [String] = []
    /// What such a name may be for, where nobody has it, the longest first: without the `_` of Markdown's emphasis at
    /// its end, and without what follows a full stop that has no space behind it.
    package private(set) var shorterNames: [String: [String]] = [:]
    package private(set) var isChannel = false
    package private(set) var isHere = false
    /// Nobody reads more names than that.
    private static let most = 100

    package init(_ content: String) {
        let bytes = Array(content.utf8)
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "`"), UInt8(ascii: "~"):
                index = Self.end(ofFenceAt: index, in: bytes) ?? Self.end(ofCodeAt: index, in: bytes)
            // CommonMark §2.4: what follows stands for itself.
            case UInt8(ascii: "\\"): index += index + 1 < bytes.count && bytes[index + 1] != UInt8(ascii: "@") ? 2 : 1
            case UInt8(ascii: "@"):
                let end = Self.end(ofNameAt: index + 1, in: bytes)
                // The `@` of an address has a name in front of it.
                if end > index + 1, !Self.isInWord(index, in: bytes) {
                    let isInEmphasis = index > 0 && bytes[index - 1] == UInt8(ascii: "_")
                    take(String(decoding: bytes[index + 1..<end], as: UTF8.self).lowercased(), isInEmphasis)
                }
                index = max(end, index + 1)
            default: index += 1
            }
        }
    }

    /// - Parameter isInEmphasis: a `_` is right in front of it.
    private mutating func take(_ name: String, _ isInEmphasis: Bool) {
        switch isInEmphasis ? Self.withoutEmphasis(name) : name {
        case "channel", "everyone", "all": isChannel = true
        case "here": isHere = true
        default:
            guard usernames.count < Self.most, !usernames.contains(name) else { return }
            usernames.append(name)
            let shorter = Self.shorter(name)
            if !shorter.isEmpty { shorterNames[name] = shorter }
        }
    }

    private static func withoutEmphasis(_ name: String) -> String {
        String(decoding: name.utf8.reversed().drop { $0 == UInt8(ascii: "_") }.reversed(), as: UTF8.self)
    }

    /// Of each place where a name could end, the first few of them, the name with one `_` less and without any.
    private static func shorter(_ name: String) -> [String] {
        let parts = name.split(separator: ".")
        var ends = [name]
        for count in 1..<max(min(parts.count, 4), 1) {
            let end = parts.prefix(count).joined(separator: ".")
            // It stands so in the text, and is none that nobody can have.
            if name.hasPrefix(end), !end.hasSuffix("-") { ends.append(end) }
        }
        var names: Set<String> = []
        for end in ends {
            names.insert(end)
            if end.hasSuffix("_") { names.formUnion([String(end.dropLast()), withoutEmphasis(end)]) }
        }
        names.subtract([name, ""])
        return names.sorted { $0.utf8.count > $1.utf8.count }
    }

    /// Whether a letter, a digit or a sign of addresses is right in front of a place. Such signs are of an address only
    /// behind a letter or a digit, a full stop is not its last and not there twice (RFC 5321 §4.1.2, `Dot-string`).
    private static func isInWord(_ place: Int, in bytes: [UInt8]) -> Bool {
        var start = place
        while start > 0, isSign(bytes[start - 1]) {
            start -= 1
            let isLast = start + 1 == place
            if bytes[start] == UInt8(ascii: "."), isLast || bytes[start + 1] == UInt8(ascii: ".") { return false }
        }
        return isLetter(before: start, in: bytes)
    }

    private static func isSign(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"): true
        default: false
        }
    }

    /// Whether a letter or a digit is right in front of a place.
    private static func isLetter(before place: Int, in bytes: [UInt8]) -> Bool {
        guard place > 0 else { return false }
        guard bytes[place - 1] >= 0x80 else { return isNamePart(bytes[place - 1]) }
        var start = place - 1
        while start > 0, bytes[start] & 0xc0 == 0x80 { start -= 1 }
        let before = String(decoding: bytes[start..<place], as: UTF8.self)
        // Scripts without spaces have their letters next to the name.
        return before.unicodeScalars.last.map { $0.properties.isAlphabetic && !$0.properties.isIdeographic } ?? false
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        Texts.isNameByte(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    /// A name does not end with a full stop, which ends the sentence.
    private static func end(ofNameAt start: Int, in bytes: [UInt8]) -> Int {
        var end = start
        while end < bytes.count, isNamePart(bytes[end]) { end += 1 }
        while end > start, bytes[end - 1] == UInt8(ascii: ".") || bytes[end - 1] == UInt8(ascii: "-") { end -= 1 }
        return end
    }

    /// CommonMark §4.5: three or more of one sign, first on their line, begin a block of code, which ends at a line of
    /// as many or more, or with the text. Nil where there is no such block.
    private static func end(ofFenceAt start: Int, in bytes: [UInt8]) -> Int? {
        let sign = bytes[start]
        var lineStart = start
        while lineStart > 0, bytes[lineStart - 1] == UInt8(ascii: " ") { lineStart -= 1 }
        guard start - lineStart <= 3, lineStart == 0 || bytes[lineStart - 1] == UInt8(ascii: "\n") else { return nil }
        var index = start
        while index < bytes.count, bytes[index] == sign { index += 1 }
        let length = index - start
        // Behind backticks there are none on the line, or it is code in a line.
        let line = bytes[index...].prefix { $0 != UInt8(ascii: "\n") }
        guard length >= 3, sign != UInt8(ascii: "`") || !line.contains(sign) else { return nil }
        while let newline = bytes[index...].firstIndex(of: UInt8(ascii: "\n")) {
            index = newline + 1
            var run = index
            while run < bytes.count, run - index < 3, bytes[run] == UInt8(ascii: " ") { run += 1 }
            let begin = run
            while run < bytes.count, bytes[run] == sign { run += 1 }
            if run - begin >= length { return run }
        }
        return bytes.count
    }

    /// CommonMark §6.1: code in a line ends at as many backticks as it began with; without them, they are only
    /// backticks.
    private static func end(ofCodeAt start: Int, in bytes: [UInt8]) -> Int {
        let tick = UInt8(ascii: "`")
        guard bytes[start] == tick else { return start + 1 }
        var index = start
        while index < bytes.count, bytes[index] == tick { index += 1 }
        let (length, behind) = (index - start, index)
        while index < bytes.count {
            guard bytes[index] == tick else {
                index += 1
                continue
            }
            let run = index
            while index < bytes.count, bytes[index] == tick { index += 1 }
            if index - run == length { return index }
        }
        return behind
    }
}
