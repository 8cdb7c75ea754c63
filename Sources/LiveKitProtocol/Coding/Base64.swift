/// Base64 (RFC 4648) in its two alphabets.
package enum Base64 {
    /// What may stand in a text, and how strictly it is read.
    package enum Form {
        /// RFC 7515 §2, as tokens have it: the URL-safe alphabet without padding, and no other spelling of the same
        /// bytes.
        case token
        /// What clients put into a URL's query: either alphabet, padded or not, and a space where a `+` was not
        /// escaped.
        case query
        /// RFC 4648 §4: the standard alphabet with padding.
        case standard
    }

    /// The bytes; nil when the text is not of this form.
    package static func decode(_ text: some Collection<UInt8>, as form: Form) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "="), form != .token {
                padding += 1
                continue
            }
            guard padding == 0, let value = digit(character, as: form) else { return nil }
            bits = bits << 6 | value
            digits += 1
            if digits % 4 == 0 {
                bytes.append(contentsOf: [UInt8(truncatingIfNeeded: bits >> 16), UInt8(truncatingIfNeeded: bits >> 8)])
                bytes.append(UInt8(truncatingIfNeeded: bits))
                bits = 0
            }
        }
        let rest = digits % 4
        // One digit holds no byte. What is left over of the last digit has to be zero, or several texts mean the same.
        switch rest {
        case 0: break
        case 2:
            guard form == .query || bits & 0xf == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
        case 3:
            guard form == .query || bits & 0x3 == 0 else { return nil }
            bytes.append(contentsOf: [UInt8(truncatingIfNeeded: bits >> 10), UInt8(truncatingIfNeeded: bits >> 2)])
        default: return nil
        }
        let missing = rest == 0 ? 0 : 4 - rest
        switch form {
        case .token: return bytes
        case .query: return padding == 0 || padding == missing ? bytes : nil
        case .standard: return padding == missing ? bytes : nil
        }
    }

    /// In the URL-safe alphabet without padding, as tokens have it.
    package static func encodeForToken(_ bytes: some Sequence<UInt8>) -> String {
        encode(bytes, alphabet: urlSafe, padded: false)
    }

    /// In the standard alphabet with padding.
    static func encodeStandard(_ bytes: some Sequence<UInt8>) -> String {
        encode(bytes, alphabet: standard, padded: true)
    }

    private static let common = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let standard = common + Array("+/".utf8)
    private static let urlSafe = common + Array("-_".utf8)

    private static func encode(_ bytes: some Sequence<UInt8>, alphabet: [UInt8], padded: Bool) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count & 0x3f)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 0x3f)]) }
        if padded { text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4)) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func digit(_ character: UInt8, as form: Form) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-") where form != .standard: 62
        case UInt8(ascii: "_") where form != .standard: 63
        case UInt8(ascii: "+") where form != .token: 62
        case UInt8(ascii: "/") where form != .token: 63
        case UInt8(ascii: " ") where form == .query: 62
        default: nil
        }
    }
}
