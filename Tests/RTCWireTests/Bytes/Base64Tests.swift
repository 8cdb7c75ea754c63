import Testing

@testable import RTCWire

/// RFC 4648 §10's examples.
@Suite struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `bytes as text`(bytes: String, text: String) {
        #expect(Base64.encode(Array(bytes.utf8)) == text)
        #expect(Base64.characters(Array(bytes.utf8)) == Array(text.utf8))
    }

    @Test func `every character stands for six bits, and no other for any`() {
        let digits = Base64.encode([0x00, 0x10, 0x83, 0xfb, 0xff, 0xbf])
        #expect(digits == "ABCD+/+/")
        let values = (0...255).map { Base64.value(of: UInt8($0)) }
        #expect(values.compactMap(\.self).sorted() == Array(0..<64))
        #expect("Az09+/=".utf8.map { Base64.value(of: $0) } == [0, 51, 52, 61, 62, 63, nil])
    }
}
