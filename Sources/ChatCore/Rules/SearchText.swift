/// What SQLite's index is made of in place of a message's own words; `Schema.unspacedScripts` has PostgreSQL do the
/// same.
package enum SearchText {
    /// The function of SQL's that gives it in SQLite: of one text, another one.
    package static let function = "roost_search_text"

    /// A text in Unicode's composed form (NFC), with spaces around each letter of `UnspacedScripts`, without the
    /// accents of Latin letters, and with a space in place of each sign beyond ASCII: what FTS5's `unicode61` does not
    /// know, as emoji and currencies that are newer than its tables, it takes for a part of a word.
    ///
    /// An entry of an index is taken out by what this gives: whoever changes that adds a step that makes it anew.
    package static func text(of content: String) -> String {
        guard !content.utf8.allSatisfy({ $0 < 0x80 }) else { return content }
        var (text, isAfterUnspaced) = (String.UnicodeScalarView(), false)
        for scalar in SearchWord.withoutLatinAccents(content).unicodeScalars {
            if SearchWord.isLetterOrDigit(scalar) {
                let isUnspaced = UnspacedScripts.contain(scalar)
                if isUnspaced || isAfterUnspaced { text.append(" ") }
                isAfterUnspaced = isUnspaced
            } else if !scalar.isASCII, !SearchWord.isMark(scalar) {
                text.append(" ")
                continue
            }
            text.append(scalar)
        }
        return String(text)
    }
}
