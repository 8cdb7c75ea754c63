internal import COpenSSL

/// SHA-256 and the two things that tokens need around it, by OpenSSL.
package enum SHA256 {
    static let digestSize = 32

    /// The digest; 32 bytes.
    package static func digest(of message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: digestSize) { digest, count in
            _ = COpenSSL.SHA256(message, message.count, digest.baseAddress)
            count = digestSize
        }
    }

    /// HMAC-SHA-256 (RFC 2104); 32 bytes. Nil where OpenSSL has not enough memory.
    package static func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: digestSize)
        var size: UInt32 = 0
        // An empty array has no address, and OpenSSL takes a missing key for "the one of the call before".
        let key = key.isEmpty ? [0] : key
        guard
            HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, &size) != nil,
            size == digestSize
        else { return nil }
        return code
    }

    /// Whether two codes are the same, in a time that does not tell how much of them is.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }
}
