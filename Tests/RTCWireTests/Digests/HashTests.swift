import Testing

@testable import RTCWire

/// FIPS 180-4's examples and RFC 2202's vectors.
@Suite struct HashTests {
    private func sha1(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA1()
        hash.update(bytes.span.bytes)
        return hash.finalize()
    }

    @Test func `SHA-1 of the published examples`() {
        #expect(sha1([]) == hexBytes("da39a3ee5e6b4b0d3255bfef95601890afd80709"))
        #expect(sha1(Array("abc".utf8)) == hexBytes("a9993e364706816aba3e25717850c26c9cd0d89d"))
        #expect(
            sha1(Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8))
                == hexBytes("84983e441c3bd26ebaae4aa1f95129e5e54670f1"))
        #expect(
            sha1([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000))
                == hexBytes("34aa973cd4c4daa4f61eeb2bdbad27316534016f"))
    }

    @Test(arguments: [1, 3, 55, 56, 63, 64, 65, 119, 127, 128, 200])
    func `SHA-1 does not depend on how the bytes are cut`(length: Int) {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 7) }
        for cut in 0...length {
            let head = Array(bytes[..<cut])
            let tail = Array(bytes[cut...])
            var hash = SHA1()
            hash.update(head.span.bytes)
            hash.update(tail.span.bytes)
            #expect(hash.finalize() == sha1(bytes))
        }
    }

    struct HMACVector: Sendable {
        let key: [UInt8]
        let data: [UInt8]
        let digest: String
    }

    /// RFC 2202 §3.
    static let vectors: [HMACVector] = [
        HMACVector(
            key: .init(repeating: 0x0b, count: 20), data: Array("Hi There".utf8),
            digest: "b617318655057264e28bc0b6fb378c8ef146be00"),
        HMACVector(
            key: Array("Jefe".utf8), data: Array("what do ya want for nothing?".utf8),
            digest: "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        HMACVector(
            key: .init(repeating: 0xaa, count: 20), data: .init(repeating: 0xdd, count: 50),
            digest: "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
        HMACVector(
            key: Array(1...25), data: .init(repeating: 0xcd, count: 50),
            digest: "4c9007f4026250c6bc8414f9bf50c86c2d7235da"),
        HMACVector(
            key: .init(repeating: 0x0c, count: 20), data: Array("Test With Truncation".utf8),
            digest: "4c1a03424b55e07fe7f27be1d58bb9324a9a5a04"),
        HMACVector(
            key: .init(repeating: 0xaa, count: 80),
            data: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            digest: "aa4ae5e15272d00e95705637ce8a3b55ed402112"),
        HMACVector(
            key: .init(repeating: 0xaa, count: 80),
            data: Array("Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data".utf8),
            digest: "e8e99d0f45237d786d6bbaa7965c7808bbff1a91"),
    ]

    @Test(arguments: vectors)
    func `HMAC-SHA1 of RFC 2202`(vector: HMACVector) {
        #expect(HMACSHA1(key: vector.key).code(of: vector.data) == hexBytes(vector.digest))
    }

    @Test func `CRC-32 of the check string`() {
        var crc = CRC32()
        let text = Array("123456789".utf8)
        crc.update(text.span.bytes)
        #expect(crc.value == 0xcbf4_3926)
    }

    @Test func `the comparison of secrets sees every byte and the length`() {
        let secret = [UInt8](repeating: 9, count: 20)
        #expect(equalInConstantTime(secret, secret))
        for index in secret.indices {
            var other = secret
            other[index] ^= 0x80
            #expect(!equalInConstantTime(secret, other))
        }
        let shorter = Array(secret.dropLast())
        #expect(!equalInConstantTime(secret, shorter))
    }
}
