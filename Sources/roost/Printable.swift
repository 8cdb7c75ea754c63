extension String {
    /// For a terminal: what would command it, break the line or turn text around is written out, as `\u{1b}`. Names,
    /// addresses and messages are other people's.
    var printable: String {
        guard unicodeScalars.contains(where: \.isCommanding) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.isCommanding {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Unicode.Scalar {
    /// C0, DEL and C1; line and paragraph separators; embeddings, overrides and isolates of the direction (UAX #9).
    var isCommanding: Bool {
        switch value {
        case ...0x1f, 0x7f...0x9f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
