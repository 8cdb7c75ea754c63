internal import Foundation

/// A word of a text, as both databases find it: letters and digits with the marks that belong to them. All else parts
/// words, also in links, addresses and names of files. Of scripts without spaces each letter is a word.
struct SearchWord: Equatable {
    let range: Range<String.Index>
    /// What it is compared by.
    let key: String
    /// It is a letter of a script that is written without spaces between words.
    let isUnspaced: Bool

    static func words(of text: some StringProtocol) -> [SearchWord] {
        var words: [SearchWord] = []
        var rest = text.unicodeScalars[...]
        while let start = rest.firstIndex(where: isLetterOrDigit) {
            let isUnspaced = UnspacedScripts.contain(rest[start])
            let end =
                rest[rest.index(after: start)...].firstIndex { scalar in
                    if isMark(scalar) { return false }
                    return isUnspaced || !isLetterOrDigit(scalar) || UnspacedScripts.contain(scalar)
                } ?? rest.endIndex
            words.append(
                SearchWord(range: start..<end, key: key(of: String(text[start..<end])), isUnspaced: isUnspaced))
            rest = rest[end...]
        }
        return words
    }

    static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII {
            return ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
        }
        return switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .decimalNumber, .letterNumber, .otherNumber:
            true
        default: false
        }
    }

    /// U+FE00 to U+FE0F and U+E0100 to U+E01EF choose the look of emoji and of ideographs: they are no part of words.
    static func isVariationSelector(_ scalar: Unicode.Scalar) -> Bool {
        (0xFE00...0xFE0F).contains(scalar.value) || (0xE0100...0xE01EF).contains(scalar.value)
    }

    /// A keycap (U+20E3) and what else stands around a letter is none: both databases part words there.
    static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        guard !scalar.isASCII, !isVariationSelector(scalar) else { return false }
        return switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark: true
        default: false
        }
    }

    /// In small letters, and without the accents of Latin ones.
    static func key(of word: String) -> String { withoutLatinAccents(word.lowercased()) }

    /// A text in Unicode's composed form (NFC), without what stands on, in or below Latin letters: as
    /// `Schema.unspacedScripts` has it in PostgreSQL. SQLite's `remove_diacritics 2` leaves less out. A `й` and a `ή`
    /// are letters of their own.
    static func withoutLatinAccents(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
        var kept = String.UnicodeScalarView()
        var isAfterLatin = false
        for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars {
            if isAfterLatin, (0x300...0x36F).contains(scalar.value) { continue }
            isAfterLatin = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
            kept.append(scalar)
        }
        return String(kept).precomposedStringWithCanonicalMapping
    }
}
