import ChatModel
import Testing

@testable import ChatCore

/// What of a message is shown where it was found. `[` and `]` stand around what was looked for.
@Suite struct SnippetTests {
    private static func snippet(_ query: String, of text: String) throws -> String {
        try SearchQuery(query).snippet(of: text).map { $0.isMatch ? "[\($0.text)]" : $0.text }.joined()
    }

    private static func numbers(_ range: ClosedRange<Int>) -> String {
        range.map { "n\($0)" }.joined(separator: " ")
    }

    @Test(arguments: [
        ("engine", "The Analytical Engine.", "The Analytical [Engine]."),
        ("eng ana", "The Analytical Engine.", "The [Analytical] [Engine]."),
        ("\"analytical engine\"", "The Analytical-Engine.", "The [Analytical-Engine]."),
        ("\"the engine\" the", "The Analytical Engine", "[The] Analytical Engine"),
        ("\"a a\"", "a a a b a", "[a a a] b a"),
        ("\"a b\"", "a b a a b", "[a b] a [a b]"), ("\"a b c\"", "b c a b", "b c a b"),
        ("example.com", "(https://example.com)", "(https://[example].[com])"),
        ("uber cafe", "Über, Cafe\u{301}!", "[Über], [Cafe\u{301}]!"),
        ("иод йод", "Иод Йод", "[Иод] [Йод]"),
        ("会議", "明日の会議は九時", "明日の[会議]は九時"), ("会 議", "会計と会議", "[会]計と[会][議]"),
        ("\"会議 は\"", "会議は", "[会議は]"), ("GPS装置", "新しいGPS装置", "新しい[GPS][装置]"),
        ("がく", "か\u{3099}くせい", "[か\u{3099}く]せい"), ("葛飾", "葛\u{E0100}飾区", "[葛\u{E0100}飾]区"),
        ("ประชุม", "มีประชุมที่บ้าน", "มี[ประชุม]ที่บ้าน"), ("มี", "ม มี", "ม [มี]"),
        ("ม", "ม มี", "[ม มี]"), ("ประชม", "ประชุม", "ประชุม"), ("ประช", "มีประชุม", "มี[ประชุ]ม"),
        ("\"ประช\"", "ประชุม", "ประชุม"),
        ("1\u{FE0F}\u{20E3}", "step 1\u{FE0F}\u{20E3}", "step [1]\u{FE0F}\u{20E3}"),
        ("party", "🎉️party👩‍🚀", "🎉️[party]👩‍🚀"),
        ("missing", "  as it was\n", "  as it was\n"),
        ("missing", "", ""),
        ("missing", "!?", "!?"),
    ])
    func `words are marked in the text as it was written`(query: String, text: String, expected: String) throws {
        #expect(try Self.snippet(query, of: text) == expected)
    }

    @Test func `of a long text the part is shown in which most of it stands`() throws {
        let text = "(\(Self.numbers(1...40)) moth, \(Self.numbers(41...80)) moth (relay) \(Self.numbers(81...99)))"
        #expect(try Self.snippet("none", of: text) == "(\(Self.numbers(1...24))…")
        #expect(
            try Self.snippet("n2", of: text)
                == "…\(Self.numbers(16...19)) \((20...29).map { "[n\($0)]" }.joined(separator: " ")) \(Self.numbers(30...39))…"
        )
        #expect(
            try Self.snippet("relay moth", of: text)
                == "…\(Self.numbers(77...80)) [moth] ([relay]) \(Self.numbers(81...98))…")
        #expect(
            try Self.snippet("n99", of: text)
                == "…\(Self.numbers(78...80)) moth (relay) \(Self.numbers(81...98)) [n99])")
    }

    @Test func `the pieces of a text that is short enough are that text`() throws {
        let text = "\u{301}x e\u{301}\u{200D}é 1️⃣ ﬁ Ǆ ß İ \r\n<b>&amp;</b> \u{2028}𝒳 हिन्दी می‌خواهم"
        for query in ["x", "e 1", "\"e e\"", "हिन्दी", "می‌خواهم", "i", "𝒳"] {
            let pieces = try SearchQuery(query).snippet(of: text)
            #expect(pieces.map(\.text).joined().unicodeScalars.elementsEqual(text.unicodeScalars), "\(query)")
            #expect(pieces.contains { $0.isMatch }, "\(query)")
        }
    }
}
