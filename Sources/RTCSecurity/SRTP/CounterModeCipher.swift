import COpenSSL
import RTCEngine

/// AES_CM_128_HMAC_SHA1_80 (RFC 3711 §4.1.1, §4.2.1): a kept EVP context for AES in counter mode, and a kept
/// HMAC-SHA1.
struct CounterModeCipher: ~Copyable {
    private static let tagLength = 10

    private let context: OpaquePointer
    private let salt: CipherBlock
    private let authenticator: SHA1Authenticator

    init(keys: SRTPSessionKeys) throws(SRTPError) {
        guard keys.encryption.count == 16, keys.salt.count == 14, keys.authentication.count == 20 else {
            throw .malformed
        }
        OpenSSLErrors.clear()
        guard let context = EVP_CIPHER_CTX_new() else { throw .keyExhausted }
        guard EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), nil, keys.encryption, nil) == 1,
            let authenticator = SHA1Authenticator(key: keys.authentication)
        else {
            EVP_CIPHER_CTX_free(context)
            OpenSSLErrors.clear()
            throw .keyExhausted
        }
        self.context = context
        self.salt = CipherBlock(leading: keys.salt)
        self.authenticator = authenticator
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
    }

    /// See `GCMCipher.prefetch`.
    borrowing func prefetch() { Prefetch.bytes(UnsafeRawPointer(context), lines: 16) }

    borrowing func seal(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        guard let base = packet.baseAddress, layout.fits(in: packet.count, tagLength: Self.tagLength),
            encrypt(base, layout), let digest = authenticator.digest(base, count: layout.bodyEnd, word: layout.word)
        else { return false }
        digest.withBytes { (base + layout.tagOffset).copyMemory(from: $0, byteCount: Self.tagLength) }
        return true
    }

    /// RFC 3711 §3.3: authenticated first, so a forged packet costs no decryption and stays as it was.
    borrowing func open(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        guard let base = packet.baseAddress, layout.fits(in: packet.count, tagLength: Self.tagLength),
            let digest = authenticator.digest(base, count: layout.bodyEnd, word: layout.word)
        else { return false }
        let tag = base + layout.tagOffset
        guard digest.withBytes({ CRYPTO_memcmp($0, tag, Self.tagLength) == 0 }) else { return false }
        return encrypt(base, layout)
    }

    /// Counter mode: the same for both directions.
    private borrowing func encrypt(_ base: UnsafeMutableRawPointer, _ layout: PacketLayout) -> Bool {
        guard layout.bodyLength > 0 else { return true }
        // RFC 3711 §4.1.1: IV = (k_s * 2^16) XOR (SSRC * 2^64) XOR (i * 2^16)
        let vector = salt ^ CipherBlock(high: UInt64(layout.ssrc), low: layout.index << 16)
        var written: Int32 = 0
        let body = (base + layout.headerLength).assumingMemoryBound(to: UInt8.self)
        let context = self.context
        return vector.withBytes { EVP_EncryptInit_ex(context, nil, nil, nil, $0) == 1 }
            && EVP_EncryptUpdate(context, body, &written, UnsafePointer(body), Int32(layout.bodyLength)) == 1
    }
}
