internal import Foundation

/// A word of a text, as both databases find it: letters and digits with the marks that belong to them. All else parts
/// words, also in links, addresses and names of files.
struct SearchWord: Equatable {
    let range: Range<String.Index>
    /// What it is compared by.
    let key: String

    static func words(of text: some StringProtocol) -> [SearchWord] {
        var words: [SearchWord] = []
        var rest = text.unicodeScalars[...]
        while let start = rest.firstIndex(where: isLetterOrDigit) {
            let end = rest[start...].firstIndex { !isLetterOrDigit($0) && !isMark($0) } ?? rest.endIndex
            words.append(SearchWord(range: start..<end, key: key(of: String(text[start..<end]))))
            rest = rest[end...]
        }
        return words
    }

    private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
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

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        // U+FE00 to U+FE0F choose the look of emoji, which are no words.
        guard !scalar.isASCII, !(0xFE00...0xFE0F).contains(scalar.value) else { return false }
        return switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    /// In small letters, and without the accents of Latin ones: what SQLite's `remove_diacritics 2` leaves out, too,
    /// and `Schema.searchWords` in PostgreSQL. A `й` and a `ή` are letters of their own.
    static func key(of word: String) -> String {
        let word = word.lowercased()
        guard !word.utf8.allSatisfy({ $0 < 0x80 }) else { return word }
        var kept = String.UnicodeScalarView()
        var isAfterLatin = false
        for scalar in word.decomposedStringWithCanonicalMapping.unicodeScalars {
            if isAfterLatin, (0x300...0x36F).contains(scalar.value) { continue }
            isAfterLatin = ("a"..."z").contains(scalar)
            kept.append(scalar)
        }
        return String(kept).precomposedStringWithCanonicalMapping
    }
}
