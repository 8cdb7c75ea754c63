import COpenSSL
public import RTCEngine

/// A self-signed ECDSA P-256 certificate with its private key (RFC 8827 §6.5).
///
/// Peers trust it by the fingerprint in the session description (RFC 8122 §5), never by a name or an issuer, so its
/// subject says nothing about who uses it.
public final class Certificate: Sendable {
    /// How long a certificate is valid from its making, in seconds: 30 days, what browsers use.
    private static let lifetime = 30 * 24 * 3_600
    /// How far back the validity begins, in seconds, so that a peer whose clock is behind accepts it.
    private static let backdating = 24 * 3_600

    // Both are written once, here, and only read by OpenSSL afterwards, which counts references atomically.
    nonisolated(unsafe) let certificate: OpaquePointer
    nonisolated(unsafe) let privateKey: OpaquePointer

    /// The SHA-256 fingerprint, for `a=fingerprint`.
    public let fingerprint: Fingerprint

    /// Makes a key and a certificate. Takes about 0.1 ms; the validity is relative to the system's clock.
    public convenience init() throws(SecurityError) { try self.init(curve: NID_X9_62_prime256v1) }

    /// - Parameter curve: OpenSSL's number of it (NID).
    init(curve: Int32) throws(SecurityError) {
        OpenSSLErrors.clear()
        guard let key = copenssl_generate_ec_key(curve) else { throw OpenSSLErrors.failure("make an EC key") }
        guard let certificate = X509_new() else {
            EVP_PKEY_free(key)
            throw OpenSSLErrors.failure("allocate a certificate")
        }
        guard Self.fill(certificate, key: key),
            let fingerprint = Self.fingerprint(of: certificate, algorithm: .sha256)
        else {
            X509_free(certificate)
            EVP_PKEY_free(key)
            throw OpenSSLErrors.failure("sign a certificate")
        }
        self.certificate = certificate
        self.privateKey = key
        self.fingerprint = fingerprint
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(privateKey)
    }

    private static func fill(_ certificate: OpaquePointer, key: OpaquePointer) -> Bool {
        var random = SystemRandomNumberGenerator()
        // RFC 5280 §4.1.2.2: a positive serial number.
        let serial: UInt64 = random.next() >> 1 | 1
        guard X509_set_version(certificate, 2) == 1,  // 2 means version 3
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1,
            X509_gmtime_adj(X509_getm_notBefore(certificate), -backdating) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), lifetime) != nil,
            setName(of: certificate, to: random.next()),
            X509_set_pubkey(certificate, key) == 1
        else { return false }
        return X509_sign(certificate, key, EVP_sha256()) > 0
    }

    /// Subject and issuer become a random serialNumber attribute and nothing else. Not empty: some stacks refuse an
    /// empty issuer (RFC 5280 §4.1.2.4).
    private static func setName(of certificate: OpaquePointer, to random: UInt64) -> Bool {
        guard let name = X509_NAME_new() else { return false }
        defer { X509_NAME_free(name) }
        let text = Array(String(random, radix: 16).utf8)
        return X509_NAME_add_entry_by_txt(
            name, "serialNumber", MBSTRING_ASC, text, Int32(text.count), -1, 0) == 1
            && X509_set_subject_name(certificate, name) == 1
            && X509_set_issuer_name(certificate, name) == 1
    }

    /// The hash of a certificate's DER form; nil when OpenSSL fails.
    static func fingerprint(of certificate: OpaquePointer, algorithm: FingerprintAlgorithm) -> Fingerprint? {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard X509_digest(certificate, algorithm.digest, &digest, &count) == 1, Int(count) <= digest.count else {
            return nil
        }
        return Fingerprint(algorithm: algorithm.rawValue, value: Array(digest.prefix(Int(count))))
    }
}

/// The hash functions that may vouch for a peer's certificate. RFC 8122 §5 lists sha-1 and md5 too; both are broken
/// for this use, so a description that has only those is a mismatch.
enum FingerprintAlgorithm: String, CaseIterable {
    case sha256 = "sha-256"
    case sha384 = "sha-384"
    case sha512 = "sha-512"

    var digest: OpaquePointer? {
        switch self {
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }
}
