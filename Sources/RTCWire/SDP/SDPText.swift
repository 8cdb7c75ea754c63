/// Reading numbers and fields byte by byte: `Character` would glue a combining mark to the separator before it.
extension FixedWidthInteger {
    /// Decimal digits alone; the standard parser would take a sign too.
    init?(sdpDigits text: some StringProtocol) {
        let digits = text.utf8
        guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let value = Self(text)
        else { return nil }
        self = value
    }
}

extension StringProtocol {
    /// The lines, without their ends: CR LF (RFC 8866 §5) or LF alone. White space and control characters behind the
    /// last one, which browsers accept, are left out.
    package var sdpLines: [Substring] {
        var text = Substring(self).utf8
        while let last = text.last, last <= 0x20 { text = text.dropLast() }
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard !text.isEmpty else { return [] }
        return lines.map { line in Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line) }
    }

    /// Whether all of it is seen: no space, no control character, ASCII alone.
    var isSDPVisible: Bool { utf8.allSatisfy { (0x21...0x7e).contains($0) } }

    /// The parts between single or repeated spaces.
    var sdpFields: [Substring] {
        Substring(self).utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
    }

    /// The parts between separators; empty ones are left out.
    func sdpParts(_ separator: Unicode.Scalar) -> [Substring] {
        Substring(self).utf8.split(separator: UInt8(ascii: separator)).map { Substring($0) }
    }

    /// What is before and after the first separator; nil without one.
    package func sdpCut(_ separator: Unicode.Scalar) -> (head: Substring, tail: Substring)? {
        let bytes = Substring(self).utf8
        guard let index = bytes.firstIndex(of: UInt8(ascii: separator)) else { return nil }
        return (Substring(bytes[..<index]), Substring(bytes[bytes.index(after: index)...]))
    }

    /// RFC 8866 §9, `token-char`.
    var isSDPToken: Bool {
        !utf8.isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case 0x21, 0x23...0x27, 0x2a...0x2b, 0x2d...0x2e, 0x30...0x39, 0x41...0x5a, 0x5e...0x7e: true
                default: false
                }
            }
    }
}
