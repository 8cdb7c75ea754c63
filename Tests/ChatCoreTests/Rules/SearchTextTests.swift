import Testing

@testable import ChatCore

/// What SQLite's index is made of.
@Suite struct SearchTextTests {
    @Test(arguments: [
        ("as it was, 2 words", "as it was, 2 words"), ("Zürich и 한국 हिन्दी", "Zürich и 한국 हिन्दी"),
        ("明日のMTG、9時", " 明 日 の MTG、9 時"), ("มีที่", " มี ที่"), ("e\u{301} か\u{3099} \u{1112}\u{1161}", "é  が  하"),
        ("葛\u{E0100}❤\u{FE0F}", " 葛 ❤ "), ("", ""),
    ])
    func `letters of scripts without spaces stand alone, and everything is composed`(text: String, expected: String) {
        #expect(SearchText.text(of: text).unicodeScalars.elementsEqual(expected.unicodeScalars))
    }
}
