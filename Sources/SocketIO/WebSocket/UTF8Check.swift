/// Whether bytes are UTF-8 (RFC 3629 §4): shortest forms only, no surrogates, nothing above U+10FFFF.
enum UTF8Check {
    static func isValid(_ bytes: RawSpan) -> Bool {
        var position = 0
        while position < bytes.byteCount {
            // Eight ASCII bytes at a time: what nearly all text is.
            if position + 8 <= bytes.byteCount,
                bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                position += 8
                continue
            }
            guard let length = sequence(in: bytes, at: position) else { return false }
            position += length
        }
        return true
    }

    /// The length of the character at a position; nil if it is none.
    private static func sequence(in bytes: RawSpan, at position: Int) -> Int? {
        let lead = bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
        guard let (length, second) = form(lead) else { return nil }
        guard length > 1 else { return 1 }
        guard position + length <= bytes.byteCount else { return nil }
        guard second.contains(bytes.unsafeLoad(fromByteOffset: position + 1, as: UInt8.self)) else { return nil }
        for offset in 2..<max(2, length) {
            let byte = bytes.unsafeLoad(fromByteOffset: position + offset, as: UInt8.self)
            guard (0x80...0xbf).contains(byte) else { return nil }
        }
        return length
    }

    /// How many bytes a lead byte announces, and which may follow it.
    static func form(_ lead: UInt8) -> (length: Int, second: ClosedRange<UInt8>)? {
        switch lead {
        case 0..<0x80: (1, 0x80...0xbf)
        case 0xc2...0xdf: (2, 0x80...0xbf)
        case 0xe0: (3, 0xa0...0xbf)
        case 0xed: (3, 0x80...0x9f)
        case 0xe1...0xef: (3, 0x80...0xbf)
        case 0xf0: (4, 0x90...0xbf)
        case 0xf4: (4, 0x80...0x8f)
        case 0xf1...0xf3: (4, 0x80...0xbf)
        default: nil
        }
    }
}
