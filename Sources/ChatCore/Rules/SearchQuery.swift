package import ChatModel
internal import Foundation

/// What somebody looks for: words, each the beginning of one, and phrases between quotes, exactly so. All of them are
/// to be in a message. Letters of `UnspacedScripts` that stand together are a phrase as well, of whose last letter more
/// may come: somebody types a vowel or a tone after it.
package struct SearchQuery: Sendable, Equatable {
    enum Term: Sendable, Equatable {
        case prefix(String)
        case phrase([String])
        /// A phrase whose last word is the beginning of one.
        case run([String])
    }

    private(set) var terms: [Term] = []
    /// A snippet has a bit for each.
    private static let most = 16
    /// In bytes.
    private static let mostLength = 1_000

    /// - Throws: `ChatError` where there is nothing to look for, or too much.
    package init(_ text: String) throws(ChatError) {
        guard text.utf8.count <= Self.mostLength else {
            throw .invalid("query", "What is searched for has at most \(Self.mostLength) bytes.")
        }
        var composed = text.precomposedStringWithCanonicalMapping
        composed.unicodeScalars.removeAll(where: SearchWord.isVariationSelector)
        for (index, part) in composed.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
            let words = SearchWord.words(of: part)
            if index % 2 == 1 {
                if !words.isEmpty { terms.append(.phrase(words.map { part[$0.range].lowercased() })) }
            } else {
                terms += Self.terms(of: words, in: part)
            }
        }
        guard !terms.isEmpty else { throw .invalid("query", "Search for at least one word.") }
        guard terms.count <= Self.most else {
            throw .invalid("query", "Search for at most \(Self.most) words.")
        }
    }

    private static func terms(of words: [SearchWord], in text: Substring) -> [Term] {
        var (terms, run): ([Term], [String]) = ([], [])
        for (index, word) in words.enumerated() {
            let text = text[word.range].lowercased()
            guard word.isUnspaced else {
                terms.append(.prefix(text))
                continue
            }
            run.append(text)
            if index + 1 < words.count, words[index + 1].isUnspaced,
                words[index + 1].range.lowerBound == word.range.upperBound
            {
                continue
            }
            terms.append(.run(run))
            run = []
        }
        return terms
    }

    /// As FTS5 reads it (https://sqlite.org/fts5.html, "Full-text Query Syntax"): these words in the messages of one
    /// workspace, whose identifier is the one word of the column `place`.
    package func fts5(in workspace: WorkspaceID) -> String {
        let words = terms.map { term in
            switch term {
            case .prefix(let word): Self.fts5([word]) + "*"
            case .phrase(let words): Self.fts5(words)
            case .run(let words): Self.fts5(words) + "*"
            }
        }
        let place = workspace.description.replacing("-", with: "")
        return "content : (\(words.joined(separator: " AND "))) AND place : \"w\(place)\""
    }

    private static func fts5(_ words: [String]) -> String {
        "\"" + words.map(SearchWord.key).joined(separator: " ") + "\""
    }

    /// As PostgreSQL's `to_tsquery` reads it, by what `Schema.unspacedScripts` keeps of words.
    package var tsquery: String {
        terms.map { term in
            switch term {
            case .prefix(let word): Self.quoted(word) + ":*"
            case .phrase(let words): "(" + Self.followed(words) + ")"
            case .run(let words): "(" + Self.followed(words) + ":*)"
            }
        }.joined(separator: " & ")
    }

    private static func followed(_ words: [String]) -> String {
        words.map(quoted).joined(separator: " <-> ")
    }

    private static func quoted(_ word: String) -> String {
        "'" + SearchWord.key(of: word).replacing("\\", with: "\\\\").replacing("'", with: "''") + "'"
    }
}
