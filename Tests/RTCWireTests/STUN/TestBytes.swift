@testable import RTCWire

/// Bytes written as pairs of hexadecimal digits, with any white space between.
func hexBytes(_ text: String) -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }
    return stride(from: 0, to: digits.count, by: 2).compactMap { offset in
        let start = digits.index(digits.startIndex, offsetBy: offset)
        return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)
    }
}

// `#expect` cannot carry a span, so the tests pass arrays.

extension STUNMessage {
    func isAuthentic(in bytes: [UInt8], key: HMACSHA1) -> Bool { isAuthentic(in: bytes.span.bytes, key: key) }
}

extension STUNMessage {
    func isAuthentic(in bytes: [UInt8], key: STUNIntegrityKey) -> Bool { isAuthentic(in: bytes.span.bytes, key: key) }
}

extension HMACSHA1 {
    func code(of bytes: [UInt8]) -> [UInt8] { authenticate(bytes.span.bytes) }
}

func equalInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    constantTimeEqual(left.span.bytes, right.span.bytes)
}
