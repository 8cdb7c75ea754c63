/// Which names a call room takes. The server checks the same (`CallRoomParameters.checkName`); both are tested with
/// `Tests/Vectors/call-names.json`.
public enum CallName {
    /// What is wrong with a name.
    public enum Problem: Hashable, Sendable {
        /// Nothing, or only spaces.
        case empty
        case tooLong
        /// Line breaks, control characters, or ones that change the direction of text.
        case unprintable
    }

    /// The longest name, in characters.
    public static let limit = 64
    /// The longest name, in bytes of UTF-8: one character may hold any number of combining marks.
    public static let byteLimit = 256

    /// Nil for a name that a room takes.
    public static func problem(with name: String) -> Problem? {
        if name.utf8.count > byteLimit || name.count > limit { return .tooLong }
        if name.unicodeScalars.contains(where: disturbsDisplay) { return .unprintable }
        return name.allSatisfy(\.isWhitespace) ? .empty : nil
    }

    private static func disturbsDisplay(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Unicode Standard Annex 9 §2: embeddings, overrides and isolates reorder the text around the name.
        case 0x202a...0x202e, 0x2066...0x2069: return true
        // What broken UTF-8 was decoded to.
        case 0xfffd: return true
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
