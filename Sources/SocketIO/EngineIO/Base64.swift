/// Base64 of RFC 4648 §4, with padding; reading also takes it without.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: ArraySlice<UInt8>, into text: inout [UInt8]) {
        text.reserveCapacity(text.count + (bytes.count + 2) / 3 * 4)
        var rest = bytes
        while let first = rest.popFirst() {
            let second = rest.popFirst()
            let third = rest.popFirst()
            let group = UInt32(first) << 16 | UInt32(second ?? 0) << 8 | UInt32(third ?? 0)
            text.append(alphabet[Int(group >> 18)])
            text.append(alphabet[Int(group >> 12 & 63)])
            text.append(second == nil ? UInt8(ascii: "=") : alphabet[Int(group >> 6 & 63)])
            text.append(third == nil ? UInt8(ascii: "=") : alphabet[Int(group & 63)])
        }
    }

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        encode(bytes[...], into: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes; nil for a foreign character, or padding anywhere but at the end.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var body = text
        var padding = 0
        while body.last == UInt8(ascii: "="), padding < 2 {
            body = body.dropLast()
            padding += 1
        }
        guard body.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for byte in body {
            guard let value = value(of: byte) else { return nil }
            group = (group << 6 | value) & 0xff_ffff
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
            }
        }
        return bytes
    }

    private static func value(of byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
