import Testing

@testable import RTCWire

/// RFC 1321's and FIPS 180-4's examples, RFC 4231's vectors, and the message of RFC 8489 appendix B.1.
@Suite struct LongTermCredentialTests {
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a"
        ),
    ])
    func `MD5 of RFC 1321`(text: String, digest: String) {
        #expect(MD5.digest(of: Array(text.utf8)) == hexBytes(digest))
    }

    @Test func `SHA-256 of the published examples`() {
        #expect(
            SHA256.digest(of: Array("abc".utf8))
                == hexBytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(
            SHA256.digest(of: [])
                == hexBytes("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
        #expect(
            SHA256.digest(of: Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8))
                == hexBytes("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"))
    }

    /// RFC 4231 §4.2, §4.3, §4.7.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `HMAC-SHA-256 of RFC 4231`(key: [UInt8], text: String, code: String) {
        #expect(HMACSHA256(key: key).authenticate(Array(text.utf8)) == hexBytes(code))
    }

    /// RFC 8489 appendix B.1 as erratum 6268 corrects it.
    static let request = hexBytes(
        """
        00010090 2112a442 78ad3433c6ad72c029da412e
        001e0020 4a3cf38fef6992bda952c6780417da0f24819415569e60b205c46e41407f1704
        00150029 6f624d61744a6f733241414143662f2f3439396b39353464364f4c33346f4c394653547679363473 41000000
        0014000b 6578616d706c652e6f726700
        001d0004 00020000
        001c0020 b5c7bf005b6c52a21c51c5e892f81924136296cb927c43149309278cc6518e65
        """)

    static let credential = STUNLongTermCredential(username: "マトリックス", realm: "example.org", password: "TheMatrIX")

    @Test func `RFC 8489 B.1: USERHASH, PASSWORD-ALGORITHM and MESSAGE-INTEGRITY-SHA256`() throws {
        let message = try STUNMessage(parsing: Self.request.span.bytes)
        let nonce = Array("obMatJos2AAACf//499k954d6OL34oL9FSTvy64sA".utf8)
        let expected: [STUNAttribute] = [
            .userHash(Self.credential.userHash), .nonce(nonce), .realm("example.org"), .passwordAlgorithm(2),
        ]
        #expect(message.attributes == expected)
        #expect(STUNNonceCookie(nonce: nonce) == .usernameAnonymity)
        let key = STUNIntegrityKey.sha256(HMACSHA256(key: Self.credential.key(.sha256)))
        #expect(message.isAuthentic(in: Self.request, key: key))
        let wrong = STUNIntegrityKey.sha256(HMACSHA256(key: Self.credential.key(.md5)))
        #expect(!message.isAuthentic(in: Self.request, key: wrong))
        let again = message.encoded(signedWith: key, fingerprint: false)
        #expect(again == Self.request)
    }

    @Test func `a code cut to half its length counts, one cut shorter does not parse`() throws {
        let key = STUNIntegrityKey.sha256(HMACSHA256(key: Self.credential.key(.sha256)))
        for length in [12, 16, 28] {
            var bytes = Array(Self.request.dropLast(32 - length))
            bytes.set(uint16: UInt16(bytes.count - 20), at: 2)
            bytes.set(uint16: UInt16(length), at: bytes.count - length - 2)
            // The code covers the length in the header, which is another one now.
            let unsigned = Array(bytes.dropLast(length + 4))
            let code = HMACSHA256(key: Self.credential.key(.sha256)).authenticate(unsigned)
            bytes.replaceSubrange(bytes.count - length..<bytes.count, with: code.prefix(length))
            let message = try? STUNMessage(parsing: bytes.span.bytes)
            #expect((message != nil) == (length >= 16))
            if let message { #expect(message.isAuthentic(in: bytes, key: key)) }
        }
    }

    @Test func `the key of MD5 is the one of RFC 5769 2·4`() throws {
        let bytes = RFC5769Tests.longTerm
        let message = try STUNMessage(parsing: bytes.span.bytes)
        let key = STUNIntegrityKey.sha1(HMACSHA1(key: Self.credential.key(.md5)))
        #expect(message.isAuthentic(in: RFC5769Tests.longTerm, key: key))
    }

    @Test func `a nonce without a cookie promises nothing`() {
        for text in ["", "obMatJos2", "obMatJos2AAA", "obMatJos2AA A", "xbMatJos2AAAC"] {
            #expect(STUNNonceCookie(nonce: Array(text.utf8)).isEmpty)
        }
        #expect(STUNNonceCookie(nonce: Array("obMatJos2AAAD".utf8)) == [.passwordAlgorithms, .usernameAnonymity])
    }

    @Test func `neither shows in a log`() {
        #expect("\(Self.credential)" == "STUNLongTermCredential(hidden)")
    }
}
