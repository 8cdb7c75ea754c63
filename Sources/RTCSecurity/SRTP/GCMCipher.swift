import COpenSSL
import RTCEngine

/// AEAD_AES_128_GCM and AEAD_AES_256_GCM (RFC 7714) over a kept EVP context: only the initialisation vector changes a
/// packet. For where `OneCallGCMCipher` cannot be had.
struct GCMCipher: ~Copyable {
    private static let tagLength = 16

    private let context: OpaquePointer
    private let kind: PacketKind
    private let salt: CipherBlock

    init(kind: PacketKind, direction: CipherDirection, keys: SRTPSessionKeys) throws(SRTPError) {
        guard keys.salt.count == 12 else { throw .malformed }
        let cipher: OpaquePointer?
        switch keys.encryption.count {
        case 16: cipher = EVP_aes_128_gcm()
        case 32: cipher = EVP_aes_256_gcm()
        default: throw .malformed
        }
        OpenSSLErrors.clear()
        guard let context = EVP_CIPHER_CTX_new() else { throw .keyExhausted }
        guard EVP_CipherInit_ex(context, cipher, nil, keys.encryption, nil, direction.rawValue) == 1 else {
            EVP_CIPHER_CTX_free(context)
            OpenSSLErrors.clear()
            throw .keyExhausted
        }
        self.context = context
        self.kind = kind
        self.salt = CipherBlock(leading: keys.salt)
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
    }

    /// The context, and what its memory goes on with: OpenSSL takes the keys' next, and most often gets it there.
    borrowing func prefetch() { Prefetch.bytes(UnsafeRawPointer(context), lines: 16) }

    borrowing func seal(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        guard let base = packet.baseAddress, layout.fits(in: packet.count, tagLength: Self.tagLength) else {
            return false
        }
        var written: Int32 = 0
        return begin(base, layout)
            && transform(base, layout)
            && EVP_EncryptFinal_ex(context, base.end(of: layout), &written) == 1
            && EVP_CIPHER_CTX_ctrl(
                context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), base + layout.tagOffset) == 1
    }

    borrowing func open(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        guard let base = packet.baseAddress, layout.fits(in: packet.count, tagLength: Self.tagLength) else {
            return false
        }
        var written: Int32 = 0
        return begin(base, layout)
            && EVP_CIPHER_CTX_ctrl(
                context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), base + layout.tagOffset) == 1
            && transform(base, layout)
            && EVP_DecryptFinal_ex(context, base.end(of: layout), &written) == 1
    }

    /// The initialisation vector, then what is authenticated only: the header (RFC 7714 §8.2), and for SRTCP the
    /// word with E bit and index too (§9.2).
    private borrowing func begin(_ base: UnsafeMutableRawPointer, _ layout: PacketLayout) -> Bool {
        var written: Int32 = 0
        let header = UnsafePointer(base.assumingMemoryBound(to: UInt8.self))
        let context = self.context
        let started = layout.gcmInitialisationVector(salt).withBytes { vector in
            EVP_CipherInit_ex(context, nil, nil, nil, vector, -1) == 1
        }
        guard started, EVP_CipherUpdate(context, nil, &written, header, Int32(layout.headerLength)) == 1 else {
            return false
        }
        switch kind {
        case .rtp:
            return true
        case .rtcp:
            var word = layout.word.bigEndian
            return withUnsafeBytes(of: &word) {
                EVP_CipherUpdate(context, nil, &written, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), 4) == 1
            }
        }
    }

    private borrowing func transform(_ base: UnsafeMutableRawPointer, _ layout: PacketLayout) -> Bool {
        guard layout.bodyLength > 0 else { return true }
        var written: Int32 = 0
        let body = (base + layout.headerLength).assumingMemoryBound(to: UInt8.self)
        return EVP_CipherUpdate(context, body, &written, UnsafePointer(body), Int32(layout.bodyLength)) == 1
    }
}

extension UnsafeMutableRawPointer {
    /// The first byte past the body, for calls that want a place to write nothing to.
    fileprivate func end(of layout: PacketLayout) -> UnsafeMutablePointer<UInt8> {
        (self + layout.bodyEnd).assumingMemoryBound(to: UInt8.self)
    }
}
