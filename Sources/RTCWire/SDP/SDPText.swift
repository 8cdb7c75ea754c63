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
    /// The parts between single or repeated spaces.
    var sdpFields: [Substring] {
        Substring(self).utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
    }

    /// The parts between separators; empty ones are left out.
    func sdpParts(_ separator: Unicode.Scalar) -> [Substring] {
        Substring(self).utf8.split(separator: UInt8(ascii: separator)).map { Substring($0) }
    }

    /// What is before and after the first separator; nil without one.
    func sdpCut(_ separator: Unicode.Scalar) -> (head: Substring, tail: Substring)? {
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
