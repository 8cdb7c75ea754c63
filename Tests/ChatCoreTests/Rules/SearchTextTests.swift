import Testing

@testable import ChatCore

/// What SQLite's index is made of.
@Suite struct SearchTextTests {
    @Test(arguments: [
        ("as it was, 2 words", "as it was, 2 words"), ("Zürich и 한국 हिन्दी", "Zurich и 한국 हिन्दी"),
        ("明日のMTG、9時", " 明 日 の MTG 9 時"), ("มีที่", " มี ที่"),
        ("e\u{301} か\u{3099} \u{1112}\u{1161}", "e  が  하"),
        ("Ａ\u{301} x\u{338}E\u{301}\u{338} и\u{306}", "Ａ\u{301} xE й"), ("開心🥰Thanks₿🏽", " 開 心  Thanks  "),
        ("葛\u{E0100}❤\u{FE0F}", " 葛   "), ("1\u{20E3}x", "1 x"), ("", ""),
    ])
    func `letters of scripts without spaces stand alone, signs part words, and everything is composed`(
        text: String, expected: String
    ) {
        #expect(SearchText.text(of: text).unicodeScalars.elementsEqual(expected.unicodeScalars))
    }
}
