/// Scripts that are written without spaces between words: ideographs, kana and bopomofo, and those of Southeast Asia
/// (UAX #14, line breaking classes `ID` and `SA`). Where their words end only a dictionary knows, so each letter is
/// searched for as a word, and what somebody looks for as a phrase of them.
///
/// Whoever changes what belongs to them adds a step to `Schema` that makes the indexes anew.
enum UnspacedScripts {
    /// Signs and marks between the letters are among them: they are no letters all the same.
    static let ranges: [ClosedRange<UInt32>] = [
        // Thai and Lao, Burmese, Khmer, Tai Le and New Tai Lue, Tai Tham.
        0x0E01...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x1950...0x19DF, 0x1A20...0x1AAF,
        // Ideographic iteration marks and numerals, kana without U+30A0 and U+30FB, bopomofo.
        0x3005...0x3007, 0x3021...0x3029, 0x3031...0x3035, 0x3038...0x303C, 0x3041...0x309F, 0x30A1...0x30FA,
        0x30FC...0x30FF, 0x3105...0x312F, 0x31A0...0x31BF, 0x31F0...0x31FF,
        // Ideographs.
        0x3400...0x4DBF, 0x4E00...0x9FFF,
        // More Burmese and Tai Viet; ideographs and kana that are there for older encodings; Ahom.
        0xA9E0...0xA9FF, 0xAA60...0xAADF, 0xF900...0xFAFF, 0xFF66...0xFF9F, 0x11700...0x1174F,
        // More kana, and the planes of ideographs.
        0x1AFF0...0x1B16F, 0x20000...0x3FFFD,
    ]

    /// - Parameter scalar: a letter or a digit.
    static func contain(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x0E01 else { return false }
        return ranges.contains { $0.contains(scalar.value) }
    }
}
