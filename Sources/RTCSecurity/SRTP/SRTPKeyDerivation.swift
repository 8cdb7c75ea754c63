import COpenSSL
import RTCEngine

/// What a derived key is for (RFC 3711 §4.3.2).
enum SRTPKeyLabel: UInt8, CaseIterable {
    case rtpEncryption = 0
    case rtpAuthentication = 1
    case rtpSalt = 2
    case rtcpEncryption = 3
    case rtcpAuthentication = 4
    case rtcpSalt = 5
}

/// The keys of one direction of RTP or of RTCP.
struct SRTPSessionKeys: Equatable {
    var encryption: [UInt8]
    var salt: [UInt8]
    /// Empty for a profile whose cipher authenticates by itself.
    var authentication: [UInt8]
}

/// Session keys from a master key and salt (RFC 3711 §4.3, RFC 6188 §3, RFC 7714 §11).
struct SRTPKeyDerivation {
    private let masterKey: [UInt8]
    /// 14 bytes; a shorter salt, as the AEAD profiles have, is filled up with zeros on the right.
    private let masterSalt: [UInt8]

    init(masterKey: [UInt8], masterSalt: [UInt8]) throws(SRTPError) {
        guard masterKey.count == 16 || masterKey.count == 32, masterSalt.count == 12 || masterSalt.count == 14 else {
            throw .malformed
        }
        self.masterKey = masterKey
        self.masterSalt = masterSalt + [UInt8](repeating: 0, count: 14 - masterSalt.count)
    }

    func rtpKeys(_ profile: SRTPProfile) throws(SRTPError) -> SRTPSessionKeys {
        try keys(profile, encryption: .rtpEncryption, authentication: .rtpAuthentication, salt: .rtpSalt)
    }

    func rtcpKeys(_ profile: SRTPProfile) throws(SRTPError) -> SRTPSessionKeys {
        try keys(profile, encryption: .rtcpEncryption, authentication: .rtcpAuthentication, salt: .rtcpSalt)
    }

    private func keys(
        _ profile: SRTPProfile, encryption: SRTPKeyLabel, authentication: SRTPKeyLabel, salt: SRTPKeyLabel
    ) throws(SRTPError) -> SRTPSessionKeys {
        SRTPSessionKeys(
            encryption: try derive(encryption, count: profile.masterKeyLength),
            salt: try derive(salt, count: profile.masterSaltLength),
            authentication: try derive(authentication, count: profile.authenticationKeyLength))
    }

    /// RFC 3711 §4.3.1 and §4.3.3: `count` bytes of the AES-CM keystream whose counter begins at
    /// `(label * 2^48 XOR salt) * 2^16`. The key derivation rate is zero, so there is no index in it.
    func derive(_ label: SRTPKeyLabel, count: Int) throws(SRTPError) -> [UInt8] {
        guard count > 0 else { return [] }
        var counter = masterSalt + [0, 0]
        counter[7] ^= label.rawValue
        return try Self.keystream(key: masterKey, counter: counter, count: count)
    }

    /// `count` bytes of AES in counter mode from `counter`, 16 bytes each. A key of 32 bytes is AES-256's (RFC 6188
    /// §2).
    static func keystream(key: [UInt8], counter: [UInt8], count: Int) throws(SRTPError) -> [UInt8] {
        guard key.count == 16 || key.count == 32, counter.count == 16 else { throw .malformed }
        let cipher = key.count == 32 ? EVP_aes_256_ctr() : EVP_aes_128_ctr()
        OpenSSLErrors.clear()
        guard let context = EVP_CIPHER_CTX_new() else { throw .keyExhausted }
        defer { EVP_CIPHER_CTX_free(context) }
        let zeros = [UInt8](repeating: 0, count: count)
        var stream = zeros
        var written: Int32 = 0
        guard EVP_EncryptInit_ex(context, cipher, nil, key, counter) == 1,
            EVP_EncryptUpdate(context, &stream, &written, zeros, Int32(count)) == 1, Int(written) == count
        else {
            OpenSSLErrors.clear()
            throw .keyExhausted
        }
        return stream
    }
}

extension SRTPProfile {
    /// Of HMAC-SHA1 (RFC 3711 §8.2), in bytes.
    fileprivate var authenticationKeyLength: Int {
        switch self {
        case .aeadAES128GCM, .aeadAES256GCM: 0
        case .aes128CMHMACSHA1_80: 20
        }
    }

    /// In bytes (RFC 7714 §13.2, RFC 3711 §5.2).
    var tagLength: Int {
        switch self {
        case .aeadAES128GCM, .aeadAES256GCM: 16
        case .aes128CMHMACSHA1_80: 10
        }
    }
}
