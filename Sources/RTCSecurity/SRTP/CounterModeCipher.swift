import COpenSSL
import CPacketCiphers
import RTCEngine

/// AES_CM_128_HMAC_SHA1_80 (RFC 3711 §4.1.1, §4.2.1): a kept EVP context for AES in counter mode, and a kept
/// HMAC-SHA1; and the same keys for `CounterModeBatch`.
struct CounterModeCipher: ~Copyable {
    static let tagLength = 10
    /// Of the 65,534 bytes that the library hashes of one message, four are the word behind it.
    private static let longestInBatch = 65_530

    private let context: OpaquePointer
    private let salt: CipherBlock
    private let authenticator: SHA1Authenticator
    /// Nil where no packet is left to a batch.
    private let batchKey: OpaquePointer?

    /// - Parameter mayWait: packets are left to a batch, where there is a library for it.
    init(keys: SRTPSessionKeys, mayWait: Bool = false) throws(SRTPError) {
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
        batchKey = mayWait ? cpacketcm_key_make(keys.encryption, keys.authentication) : nil
    }

    deinit {
        cpacketcm_key_free(batchKey)
        EVP_CIPHER_CTX_free(context)
    }

    /// See `GCMCipher.prefetch`.
    borrowing func prefetch() {
        if let batchKey {
            Prefetch.bytes(UnsafeRawPointer(batchKey), lines: 4)
        } else {
            Prefetch.bytes(UnsafeRawPointer(context), lines: 16)
        }
    }

    /// See `PacketCipher.leave`.
    borrowing func leave(
        _ layout: PacketLayout, at start: Int, of context: SRTPContext, to batch: CounterModeBatch
    ) -> Bool {
        // What has nothing to encrypt is not worth a case of its own there, and the library has a limit.
        guard let batchKey, layout.bodyLength > 0, layout.bodyEnd <= Self.longestInBatch else { return false }
        batch.append(layout, at: start, vector(layout), of: context, batchKey)
        return true
    }

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
        var written: Int32 = 0
        let body = (base + layout.headerLength).assumingMemoryBound(to: UInt8.self)
        let context = self.context
        return vector(layout).withBytes { EVP_EncryptInit_ex(context, nil, nil, nil, $0) == 1 }
            && EVP_EncryptUpdate(context, body, &written, UnsafePointer(body), Int32(layout.bodyLength)) == 1
    }

    /// RFC 3711 §4.1.1: IV = (k_s * 2^16) XOR (SSRC * 2^64) XOR (i * 2^16)
    private borrowing func vector(_ layout: PacketLayout) -> CipherBlock {
        salt ^ CipherBlock(high: UInt64(layout.ssrc), low: layout.index << 16)
    }
}
