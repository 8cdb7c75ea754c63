internal import COpenSSL

/// Signs by ES256 (RFC 7518 §3.4): ECDSA on P-256 with SHA-256.
final class ES256Key: Sendable {
    /// Only read once it is made, which OpenSSL allows from all threads.
    private nonisolated(unsafe) let key: OpaquePointer

    /// - Parameter pem: PKCS #8, as Apple gives it out.
    init(pem: String) throws(APNsFault) {
        let bytes = Array(pem.utf8)
        guard let input = BIO_new_mem_buf(bytes, Int32(clamping: bytes.count)) else { throw .notAKey }
        defer { BIO_free(input) }
        guard let key = PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in 0 }, nil) else { throw .notAKey }
        var group = [CChar](repeating: 0, count: 32)
        var length = 0
        guard EVP_PKEY_is_a(key, "EC") == 1, EVP_PKEY_get_group_name(key, &group, group.count, &length) == 1,
            String(decoding: group.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) == "prime256v1"
        else {
            EVP_PKEY_free(key)
            throw .notAKey
        }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// The signature as JWS has it: R and S, 32 bytes each, without DER around them.
    func sign(_ message: [UInt8]) throws(APNsFault) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .notSigned }
        defer { EVP_MD_CTX_free(context) }
        // P-256 makes at most 72 bytes of DER.
        var der = [UInt8](repeating: 0, count: 80)
        var length = der.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &der, &length, message, message.count) == 1
        else { throw .notSigned }
        let signature = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, length)
        }
        guard let signature else { throw .notSigned }
        defer { ECDSA_SIG_free(signature) }
        var raw = [UInt8](repeating: 0, count: 64)
        let isWhole = raw.withUnsafeMutableBufferPointer { raw in
            guard let start = raw.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32) == 32
        }
        guard isWhole else { throw .notSigned }
        return raw
    }
}
