package import ChatModel

/// Where in a message it was found: cut from the text as it was written, whichever database found it.
extension SearchQuery {
    private static let snippetWords = 24
    /// So many words stand before the first that was looked for.
    private static let wordsBefore = 4

    /// Messages that were found, with where in each.
    package func results(of page: Page<Message>) -> Page<SearchResult> {
        Page(
            page.items.map { SearchResult(message: $0, snippet: snippet(of: $0.content)) }, before: page.before,
            after: page.after)
    }

    /// A part of a text in which most of what is looked for stands, with `…` where something was cut off.
    package func snippet(of text: String) -> [SnippetPiece] {
        let words = SearchWord.words(of: text)
        let found = terms(in: words)
        let window = Self.window(of: found)
        var pieces: [SnippetPiece] = []
        func append(_ part: some StringProtocol, isMatch: Bool) {
            guard !part.isEmpty else { return }
            if !isMatch, let last = pieces.last, !last.isMatch {
                pieces[pieces.count - 1].text += part
            } else {
                pieces.append(SnippetPiece(String(part), isMatch: isMatch))
            }
        }
        var end = text.startIndex
        if let first = window.first, first > 0 {
            append("…", isMatch: false)
            end = words[first].range.lowerBound
        }
        var index = window.lowerBound
        while index < window.upperBound {
            guard found[index] != 0 else {
                index += 1
                continue
            }
            append(text[end..<words[index].range.lowerBound], isMatch: false)
            var last = index
            while last + 1 < window.upperBound, found[last] & found[last + 1] & phrases != 0 { last += 1 }
            end = words[last].range.upperBound
            append(text[words[index].range.lowerBound..<end], isMatch: true)
            index = last + 1
        }
        if window.upperBound < words.count {
            append(text[end..<words[window.upperBound - 1].range.upperBound], isMatch: false)
            append("…", isMatch: false)
        } else {
            append(text[end...], isMatch: false)
        }
        return pieces
    }

    /// Which terms each word is of, a bit for each.
    private func terms(in words: [SearchWord]) -> [UInt16] {
        var found = [UInt16](repeating: 0, count: words.count)
        for (bit, term) in terms.enumerated() {
            switch term {
            case .prefix(let word):
                let key = SearchWord.key(of: word)
                for index in words.indices where words[index].key.utf8.starts(with: key.utf8) {
                    found[index] |= 1 << bit
                }
            case .phrase(let phrase): Self.mark(phrase, in: words, as: 1 << bit, isRun: false, &found)
            case .run(let run): Self.mark(run, in: words, as: 1 << bit, isRun: true, &found)
            }
        }
        return found
    }

    /// - Parameter isRun: the last word of it may go on.
    private static func mark(
        _ phrase: [String], in words: [SearchWord], as bit: UInt16, isRun: Bool, _ found: inout [UInt16]
    ) {
        let keys = phrase.map(SearchWord.key)
        guard let last = keys.last else { return }
        // In place: a phrase may have as many words as a query, and a message tens of thousands of starts.
        for start in words.indices where words.count - start >= keys.count {
            let end = start + keys.count - 1
            guard zip(words[start..<end], keys).allSatisfy({ $0.key == $1 }),
                words[end].key == last || isRun && words[end].key.utf8.starts(with: last.utf8)
            else { continue }
            for index in start...end { found[index] |= bit }
        }
    }

    private var phrases: UInt16 {
        terms.enumerated().reduce(0) { bits, term in
            switch term.element {
            case .prefix: bits
            case .phrase, .run: bits | 1 << term.offset
            }
        }
    }

    /// The first of those words with the most different terms, and then with the most words of them.
    private static func window(of found: [UInt16]) -> Range<Int> {
        guard found.count > snippetWords else { return 0..<found.count }
        var best = (start: 0, terms: 0, words: 0)
        for index in found.indices where found[index] != 0 {
            let start = min(max(index - wordsBefore, 0), found.count - snippetWords)
            let part = found[start..<start + snippetWords]
            let (terms, words) = (part.reduce(0, |).nonzeroBitCount, part.count { $0 != 0 })
            if (terms, words) > (best.terms, best.words) { best = (start, terms, words) }
        }
        return best.start..<best.start + snippetWords
    }
}
