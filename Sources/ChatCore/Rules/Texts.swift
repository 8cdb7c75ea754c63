internal import Foundation

/// Checks what people write into fields, and gives it as it is kept.
package enum Texts {
    /// A text on one line, without spaces around it. Nil when there is nothing left, it is too long, or it has
    /// characters that nobody sees.
    static func line(_ text: String, upTo length: Int) -> String? {
        let trimmed = trimmed(text)
        guard isWithin(trimmed, length), !trimmed.unicodeScalars.contains(where: isControl),
            !trimmed.unicodeScalars.allSatisfy(isUnseen)
        else { return nil }
        return trimmed
    }

    /// What shows nothing: fillers of Hangul, selectors, joiners, and the pattern of Braille without a dot.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.generalCategory == .format
            || scalar.properties.isWhitespace || scalar.value == 0x2800
    }

    package static func trimmed(_ text: String) -> String {
        let isSpace = { (character: Character) in character.isWhitespace || character.isNewline }
        guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(text[first...last])
    }

    private static func isWithin(_ text: String, _ length: Int) -> Bool {
        // One character can have any number of scalars.
        text.utf8.count <= 4 * length && text.count <= length
    }

    /// Controls, and what nobody sees or what turns the writing direction, by which a name could look like another; but
    /// for what joins letters, and the letters of flags (UAX #31 §2.3, UTS #51 §1.4.3).
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        case .format: !(0x200C...0x200D).contains(scalar.value) && !(0xE0020...0xE007F).contains(scalar.value)
        default: false
        }
    }

    /// A line that may be empty.
    static func note(
        _ text: String, upTo length: Int, field: String
    ) throws(ChatError) -> String {
        if trimmed(text).isEmpty { return "" }
        guard let line = line(text, upTo: length) else {
            throw .invalid(field, "This takes one line of at most \(length) characters.")
        }
        return line
    }

    static func displayName(_ text: String, _ limits: Limits) throws(ChatError) -> String {
        guard let name = line(text, upTo: limits.displayNameLength) else {
            throw .invalid("display_name", "A name has from 1 to \(limits.displayNameLength) characters, on one line.")
        }
        return name
    }

    static func workspaceName(_ text: String, _ limits: Limits) throws(ChatError) -> String {
        guard let name = line(text, upTo: limits.displayNameLength) else {
            throw .invalid("name", "A name has from 1 to \(limits.displayNameLength) characters, on one line.")
        }
        return name
    }

    /// What `@` names: lower case, so that no two differ in that alone.
    static func username(_ text: String, _ limits: Limits) throws(ChatError) -> String {
        let name = text.lowercased()
        guard (2...limits.usernameLength).contains(name.utf8.count), let first = name.utf8.first,
            isLetterOrDigit(first), name.utf8.allSatisfy(isNameByte), !name.hasSuffix("."), !name.hasSuffix("-"),
            !["channel", "here", "everyone", "all", "me"].contains(name)
        else {
            throw .invalid(
                "username",
                "A username has from 2 to \(limits.usernameLength) letters from a to z, digits, '.', '-' and '_', "
                    + "begins with a letter or a digit, does not end with '.' or '-', and is none of 'channel', 'here', 'everyone', 'all', 'me'."
            )
        }
        return name
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    static func isNameByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// Lower case, letters and digits of any script, `-` and `_`: what `#` names.
    static func channelName(_ text: String, _ limits: Limits) throws(ChatError) -> String {
        let name = channelKey(text)
        let scalars = Array(name.unicodeScalars)
        guard !name.isEmpty, isWithin(name, limits.channelNameLength),
            scalars.indices.allSatisfy({ isOfChannelName(scalars, $0) })
        else {
            throw .invalid(
                "name",
                "A channel's name has from 1 to \(limits.channelNameLength) letters, digits, '-' and '_', no spaces.")
        }
        return name
    }

    /// A channel's name as it is looked for: two ways to write the same letter are one name (UAX #15).
    static func channelKey(_ text: String) -> String { text.lowercased().precomposedStringWithCanonicalMapping }

    private static let joiner: Unicode.Scalar = "\u{200D}"
    private static let nonJoiner: Unicode.Scalar = "\u{200C}"

    /// Whether a name can have what stands there: nothing that shows nothing, by which two names could look alike.
    /// Joiners stand where they show, and a mark on something.
    private static func isOfChannelName(_ scalars: [Unicode.Scalar], _ index: Int) -> Bool {
        let scalar = scalars[index]
        if scalar == joiner { return joins(after: scalars[..<index], before: scalars[(index + 1)...]) }
        if scalar == nonJoiner { return parts(after: scalars[..<index], before: scalars[(index + 1)...]) }
        guard !scalar.properties.isDefaultIgnorableCodePoint else { return false }
        if isMark(scalar) {
            return index > 0
                && (isLetterOrNumber(scalars[index - 1]) || isMark(scalars[index - 1]) || scalars[index - 1] == joiner)
        }
        return isLetterOrNumber(scalar) || scalar == "-" || scalar == "_"
    }

    /// UAX #31 §2.3, B: after a virama. Bengali and Kannada write one between a letter and its virama as well.
    private static func joins(after: ArraySlice<Unicode.Scalar>, before: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let last = after.last else { return false }
        return isVirama(last) || isIndicLetter(last) && before.first.map(isVirama) ?? false
    }

    /// UAX #31 §2.3, A2: between a virama and a letter; A1: between letters that would be joined.
    private static func parts(after: ArraySlice<Unicode.Scalar>, before: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let next = before.first(where: { !isMark($0) }), let last = after.last else { return false }
        if isVirama(last) { return isIndicLetter(next) }
        return after.last { !isMark($0) }.map(joinsForward) ?? false && isArabicLetter(next)
    }

    private static func isVirama(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.canonicalCombiningClass == .virama
    }

    private static func isIndicLetter(_ scalar: Unicode.Scalar) -> Bool {
        (0x0900...0x0DFF).contains(scalar.value) && isLetterOrNumber(scalar)
    }

    private static func isArabicLetter(_ scalar: Unicode.Scalar) -> Bool {
        (0x0620...0x08FF).contains(scalar.value) && scalar.properties.generalCategory == .otherLetter
    }

    /// Not of joining type R or U (ArabicShaping.txt), of the letters in use.
    private static func joinsForward(_ scalar: Unicode.Scalar) -> Bool {
        guard isArabicLetter(scalar) else { return false }
        return switch scalar.value {
        case 0x621...0x625, 0x627, 0x629, 0x62F...0x632, 0x648, 0x671...0x677, 0x688...0x699, 0x6C0, 0x6C3...0x6CB,
            0x6CD, 0x6CF, 0x6D2...0x6D3, 0x6D5, 0x6EE...0x6EF:
            false
        default: true
        }
    }

    private static func isLetterOrNumber(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
        case .decimalNumber, .letterNumber, .otherNumber: true
        default: false
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .nonspacingMark || scalar.properties.generalCategory == .spacingMark
    }

    /// The part of an address that a workspace has.
    static func slug(_ text: String, _ limits: Limits) throws(ChatError) -> String {
        let slug = text.lowercased()
        guard (2...limits.usernameLength).contains(slug.utf8.count), let first = slug.utf8.first,
            isLetterOrDigit(first), slug.utf8.allSatisfy({ isLetterOrDigit($0) || $0 == UInt8(ascii: "-") })
        else {
            throw .invalid(
                "slug",
                "A workspace's address has from 2 to \(limits.usernameLength) letters from a to z, digits and '-'.")
        }
        return slug
    }

    /// As it was written, with something on each side of one `@` (RFC 5321 §4.1.2 without its rarer forms). Whether
    /// somebody reads it is found out by writing to it.
    ///
    /// - Parameter isNew: false for one that may be there, and was taken when it could be what it no longer can.
    package static func email(_ text: String, isNew: Bool = true) throws(ChatError) -> String {
        let address = trimmed(text)
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].utf8.count), (3...190).contains(parts[1].utf8.count),
            address.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }),
            !isNew || !address.unicodeScalars.contains(where: { isUnprintable($0) || isLikeASCII($0) }),
            parts[1].contains("."), !parts[1].hasPrefix("."), !parts[1].hasSuffix("."), !address.contains(".."),
            !address.contains(where: { "<>()[],;:\\\"".contains($0) })
        else { throw .invalid("email", "This is no e-mail address.") }
        return address
    }

    /// The sign of kelvin is a "k" when letters are made small, and an address is looked for in small ones.
    private static func isLikeASCII(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.isASCII && scalar.properties.lowercaseMapping.utf8.allSatisfy { $0 < 0x80 }
    }

    /// What commands a terminal, ends a line, or turns the direction of writing.
    private static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    package static func password(_ text: String, _ limits: Limits) throws(ChatError) {
        guard limits.passwordLength.contains(text.count), text.utf8.count <= 4 * limits.passwordLength.upperBound
        else {
            throw .invalid(
                "password",
                "A password has from \(limits.passwordLength.lowerBound) to \(limits.passwordLength.upperBound) characters."
            )
        }
    }

    /// A message's words as they were written, but for NUL, which PostgreSQL does not keep.
    static func content(_ text: String, isEmptyAllowed: Bool, _ limits: Limits) throws(ChatError) -> String {
        guard isEmptyAllowed || !trimmed(text).isEmpty else { throw .invalid("content", "A message says something.") }
        guard isWithin(text, limits.messageLength) else {
            throw ChatError(
                .tooLarge, code: "message_too_long", "A message has at most \(limits.messageLength) characters.",
                field: "content")
        }
        guard !text.utf8.contains(0) else { throw .invalid("content", "A message has no NUL characters.") }
        return text
    }

    /// One emoji, or the name of one between colons, in the one form that it is kept in.
    ///
    /// - Parameter isNew: false for one that may be there, and was taken when it had other marks.
    static func emoji(_ text: String, isNew: Bool = true) throws(ChatError) -> String {
        let isName =
            text.utf8.count <= 66 && text.utf8.count > 2 && text.hasPrefix(":") && text.hasSuffix(":")
            && text.utf8.dropFirst().dropLast().allSatisfy { isNameByte($0) || $0 == UInt8(ascii: "+") }
        let scalars = text.unicodeScalars
        // UTS #51 §1.4: digits and some signs are emoji only with U+FE0F or U+20E3 behind them.
        let isEmoji =
            text.count == 1 && text.utf8.count <= 64 && scalars.first?.properties.isEmoji == true
            && scalars.contains { $0.value > 0xff && $0.properties.isEmoji || $0.value == 0xfe0f || $0.value == 0x20e3 }
        guard isName || isEmoji, !isNew || isName || isEmojiAlone(Array(scalars)) else {
            throw .invalid("emoji", "A reaction is one emoji, or its name between colons.")
        }
        let key = emojiKey(text)
        guard !isNew || key.utf8.count <= 66 else {
            throw .invalid("emoji", "A reaction is one emoji, or its name between colons.")
        }
        return key
    }

    private static let emojiSelector: Unicode.Scalar = "\u{FE0F}"
    private static let textSelector: Unicode.Scalar = "\u{FE0E}"
    private static let keycap: Unicode.Scalar = "\u{20E3}"
    private static let endOfTag: Unicode.Scalar = "\u{E007F}"

    /// An emoji in its fully qualified form (UTS #51, ED-18): whoever leaves U+FE0F out where it belongs, writes it
    /// where it does nothing, or asks for the look of text, means the same one. Of what is no emoji, the text itself.
    static func emojiKey(_ text: String) -> String {
        guard text.unicodeScalars.first?.properties.isEmoji == true else { return text }
        let scalars = Array(text.unicodeScalars).filter { $0 != emojiSelector && $0 != textSelector }
        var key = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            key.append(scalar)
            let next = index + 1 < scalars.count ? scalars[index + 1] : nil
            // A skin tone asks for the look of an emoji by itself (§2.4).
            let properties = scalar.properties
            guard properties.isEmoji, !properties.isEmojiPresentation, next?.properties.isEmojiModifier != true else {
                continue
            }
            key.append(emojiSelector)
        }
        return String(key)
    }

    /// Whether there is nothing but what emoji are made of, where it shows something (UTS #51 §1.4): nothing that
    /// nobody sees, by which one could be many reactions that look the same.
    private static func isEmojiAlone(_ scalars: [Unicode.Scalar]) -> Bool {
        for (index, scalar) in scalars.enumerated() {
            let next = index + 1 < scalars.count ? scalars[index + 1] : nil
            switch scalar {
            case joiner:
                guard let next, next.properties.isEmoji, !next.properties.isEmojiModifier else { return false }
            case emojiSelector, textSelector:
                // Behind an emoji, once.
                guard index > 0, scalars[index - 1].properties.isEmoji else { return false }
            case keycap:
                guard next == nil, scalars[0].isASCII, index == 1 || index == 2 && scalars[1] == emojiSelector else {
                    return false
                }
            case "\u{E0020}"..."\u{E007E}", endOfTag:
                // ED-14a: a black flag, its tags, and their end.
                return scalars.count > 2 && scalars[0].value == 0x1F3F4 && scalars.last == endOfTag
                    && scalars[1..<(scalars.count - 1)].allSatisfy { ("\u{E0020}"..."\u{E007E}").contains($0) }
            default: guard scalar.properties.isEmoji else { return false }
            }
        }
        return true
    }
}
