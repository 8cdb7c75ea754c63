internal import COpenSSL

/// SHA-256 of what comes in pieces (FIPS 180-4).
struct FileDigest: ~Copyable {
    private let context: OpaquePointer?

    init() {
        context = EVP_MD_CTX_new()
        _ = EVP_DigestInit_ex(context, EVP_sha256(), nil)
    }

    deinit { EVP_MD_CTX_free(context) }

    borrowing func add(_ bytes: [UInt8]) { _ = EVP_DigestUpdate(context, bytes, bytes.count) }

    /// In hexadecimal, of all that was added; nothing is added after it. Nil where OpenSSL has no memory.
    consuming func text() -> String? {
        var digest = [UInt8](repeating: 0, count: 32)
        var size: UInt32 = 0
        guard EVP_DigestFinal_ex(context, &digest, &size) == 1, size == 32 else { return nil }
        return Hex.text(digest)
    }
}
