/// RFC 4648 §4.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// With padding.
    package static func encode(_ bytes: [UInt8]) -> String { String(decoding: characters(bytes), as: UTF8.self) }

    /// The same as characters of ASCII.
    package static func characters(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let piece = bytes[start..<min(start + 3, bytes.count)]
            var bits = piece.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            bits <<= UInt32(8 * (3 - piece.count))
            for place in 0..<4 {
                text.append(
                    place <= piece.count ? alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
            }
        }
        return text
    }

    /// The six bits that a character stands for; nil for any other, the padding's among them.
    package static func value(of character: UInt8) -> UInt8? {
        alphabet.firstIndex(of: character).map { UInt8(truncatingIfNeeded: $0) }
    }
}
