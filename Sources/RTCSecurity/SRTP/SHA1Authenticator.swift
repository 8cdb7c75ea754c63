import COpenSSL

/// HMAC-SHA1 (RFC 2104) with the key's two blocks hashed once.
///
/// `SHA_CTX` is a plain value: starting a packet is a copy of 96 bytes. OpenSSL 3's `HMAC_CTX` and `EVP_MAC` duplicate
/// a provider context for each message instead. Measured with OpenSSL 3.0 over 1,204 bytes: 0.64 µs and no allocation,
/// against 0.70 µs and 0.74 µs with two allocations each.
///
/// A class, so that a cipher is a few words, whichever it is: 200 bytes were copied whenever one was called.
final class SHA1Authenticator {
    /// 20 bytes.
    struct Digest {
        private var words: (UInt32, UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0, 0)

        fileprivate mutating func withMutableBytes<Result>(_ body: (UnsafeMutablePointer<UInt8>) -> Result) -> Result {
            withUnsafeMutableBytes(of: &words) { bytes in
                // A tuple of five words is never empty.
                body(bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self))
            }
        }

        func withBytes<Result>(_ body: (UnsafeRawPointer) -> Result) -> Result {
            withUnsafeBytes(of: words) { body($0.baseAddress.unsafelyUnwrapped) }
        }
    }

    private static let blockLength = 64

    /// SHA-1 after the key's inner block, and after its outer one.
    private let inner: SHA_CTX
    private let outer: SHA_CTX

    /// `key` is at most a block long; nil for a longer one, or when OpenSSL fails.
    init?(key: [UInt8]) {
        guard key.count <= Self.blockLength else { return nil }
        let padded = key + [UInt8](repeating: 0, count: Self.blockLength - key.count)
        guard let inner = Self.start(padded.map { $0 ^ 0x36 }), let outer = Self.start(padded.map { $0 ^ 0x5c }) else {
            return nil
        }
        self.inner = inner
        self.outer = outer
    }

    private static func start(_ block: [UInt8]) -> SHA_CTX? {
        var context = SHA_CTX()
        guard SHA1_Init(&context) == 1, SHA1_Update(&context, block, block.count) == 1 else { return nil }
        return context
    }

    /// Over `count` bytes and then `word` in network order, which is not part of an SRTP packet (RFC 3711 §4.2).
    func digest(_ bytes: UnsafeRawPointer, count: Int, word: UInt32) -> Digest? {
        var message = inner
        var suffix = word.bigEndian
        var digest = Digest()
        guard SHA1_Update(&message, bytes, count) == 1, SHA1_Update(&message, &suffix, 4) == 1,
            digest.withMutableBytes({ SHA1_Final($0, &message) }) == 1
        else { return nil }
        var outer = self.outer
        guard digest.withBytes({ SHA1_Update(&outer, $0, 20) }) == 1,
            digest.withMutableBytes({ SHA1_Final($0, &outer) }) == 1
        else { return nil }
        return digest
    }
}
