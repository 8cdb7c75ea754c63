internal import COpenSSL

/// AES-128 in Galois/counter mode (NIST SP 800-38D), with a nonce of 12 bytes and a tag of 16 behind the ciphertext:
/// what clients encrypt between each other.
package enum AES128GCM {
    package static let keyLength = 16
    package static let nonceLength = 12
    package static let tagLength = 16

    /// Nil only where OpenSSL fails.
    ///
    /// - Parameters:
    ///   - plain: what nobody else is to read.
    ///   - clear: what everybody reads and nobody changes.
    package static func seal(_ plain: ArraySlice<UInt8>, clear: ArraySlice<UInt8>, nonce: [UInt8], key: [UInt8])
        -> [UInt8]?
    {
        guard let context = Context(key, nonce, encrypts: true), context.update(clear: clear) else { return nil }
        var written: Int32 = 0
        var sealed = [UInt8](repeating: 0, count: plain.count + tagLength)
        let isSealed = sealed.withUnsafeMutableBufferPointer { out -> Bool in
            guard let base = out.baseAddress, context.update(plain, into: base),
                EVP_EncryptFinal_ex(context.pointer, base + plain.count, &written) == 1
            else { return false }
            return EVP_CIPHER_CTX_ctrl(
                context.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), base + plain.count) == 1
        }
        return isSealed ? sealed : nil
    }

    /// Nil for what was not sealed with this key and this nonce, or was changed.
    package static func open(_ sealed: ArraySlice<UInt8>, clear: ArraySlice<UInt8>, nonce: [UInt8], key: [UInt8])
        -> [UInt8]?
    {
        guard sealed.count >= tagLength, let context = Context(key, nonce, encrypts: false),
            context.update(clear: clear)
        else { return nil }
        let cipher = sealed.dropLast(tagLength)
        var tag = Array(sealed.suffix(tagLength))
        guard EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tagLength), &tag) == 1 else {
            return nil
        }
        var written: Int32 = 0
        // One byte more, so that there is an address where there is nothing to be written.
        var plain = [UInt8](repeating: 0, count: cipher.count + 1)
        let isAuthentic = plain.withUnsafeMutableBufferPointer { out -> Bool in
            guard let base = out.baseAddress, context.update(cipher, into: base) else { return false }
            return EVP_DecryptFinal_ex(context.pointer, base + cipher.count, &written) == 1
        }
        guard isAuthentic else { return nil }
        plain.removeLast()
        return plain
    }

    private final class Context {
        let pointer: OpaquePointer

        init?(_ key: [UInt8], _ nonce: [UInt8], encrypts: Bool) {
            guard key.count == keyLength, nonce.count == nonceLength, let context = EVP_CIPHER_CTX_new() else {
                return nil
            }
            pointer = context
            guard EVP_CipherInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce, encrypts ? 1 : 0) == 1 else {
                return nil
            }
        }

        deinit { EVP_CIPHER_CTX_free(pointer) }

        func update(clear: ArraySlice<UInt8>) -> Bool {
            guard !clear.isEmpty else { return true }
            var written: Int32 = 0
            return clear.withUnsafeBufferPointer {
                EVP_CipherUpdate(pointer, nil, &written, $0.baseAddress, Int32($0.count)) == 1
            }
        }

        func update(_ bytes: ArraySlice<UInt8>, into out: UnsafeMutablePointer<UInt8>) -> Bool {
            guard !bytes.isEmpty else { return true }
            var written: Int32 = 0
            return bytes.withUnsafeBufferPointer {
                EVP_CipherUpdate(pointer, out, &written, $0.baseAddress, Int32($0.count)) == 1
            }
        }
    }
}

/// Makes a key of a password (PBKDF2, RFC 8018 §5.2, with HMAC-SHA-256).
package enum PasswordKey {
    /// Takes tens of milliseconds for a hundred thousand iterations. Nil only where OpenSSL fails.
    package static func derive(_ password: [UInt8], salt: [UInt8], iterations: Int, length: Int) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: length)
        let isDone = password.withUnsafeBufferPointer { password in
            password.withMemoryRebound(to: CChar.self) { password in
                PKCS5_PBKDF2_HMAC(
                    password.baseAddress, Int32(password.count), salt, Int32(salt.count), Int32(iterations),
                    EVP_sha256(), Int32(length), &key) == 1
            }
        }
        return isDone ? key : nil
    }
}
