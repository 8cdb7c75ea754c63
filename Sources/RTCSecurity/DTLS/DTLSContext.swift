import COpenSSL
import RTCEngine
import Synchronization

/// What all associations of one certificate share.
final class DTLSContext: Sendable {
    let certificate: Certificate
    private let rules: DTLSRules

    init(certificate: Certificate, rules: DTLSRules) {
        self.certificate = certificate
        self.rules = rules
    }

    /// OpenSSL's `SSL_CTX`.
    var pointer: OpaquePointer { rules.pointer }

    /// Makes the certificate the one that an association shows.
    func identify(_ ssl: OpaquePointer) -> Bool {
        SSL_use_certificate(ssl, certificate.certificate) == 1 && SSL_use_PrivateKey(ssl, certificate.privateKey) == 1
    }
}

/// OpenSSL's `SSL_CTX` with the rules of WebRTC, whoever's the certificate is. Making one takes OpenSSL 3 as long as
/// making a certificate, for it looks every algorithm up by its name: so a process has one for each list of profiles.
final class DTLSRules: Sendable {
    /// RFC 8827 §6.5 asks for ECDHE with AEAD and names ECDHE-ECDSA-AES128-GCM-SHA256 as the one that all have. The
    /// RSA rows are for peers that are servers with an RSA certificate.
    private static let cipherSuites = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384:\
        ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305:ECDHE-RSA-AES256-GCM-SHA384
        """

    /// Those of browsers. RFC 8422 §5.1: a peer's certificate, too, has to be on one of them, and those of some servers
    /// are on P-384.
    private static let groups = "X25519:P-256:P-384"

    private static let made = Mutex<[[SRTPProfile]: DTLSRules]>([:])

    /// Those of this process. A profile that is named twice counts once, so that there are fifteen lists at most.
    static func shared(_ named: [SRTPProfile]) throws(SecurityError) -> DTLSRules {
        var profiles: [SRTPProfile] = []
        for profile in named where !profiles.contains(profile) { profiles.append(profile) }
        return try shared(for: profiles)
    }

    private static func shared(for profiles: [SRTPProfile]) throws(SecurityError) -> DTLSRules {
        try made.withLock { made throws(SecurityError) in
            if let known = made[profiles] { return known }
            let rules = try DTLSRules(profiles)
            made[profiles] = rules
            return rules
        }
    }

    // Written once, in `init`, and only given to `SSL_new` afterwards, which counts references atomically: any
    // thread may make associations.
    nonisolated(unsafe) let pointer: OpaquePointer

    init(_ profiles: [SRTPProfile]) throws(SecurityError) {
        guard !profiles.isEmpty else { throw .noProfiles }
        OpenSSLErrors.clear()
        guard let context = SSL_CTX_new(DTLS_method()) else { throw OpenSSLErrors.failure("make a DTLS context") }
        do throws(SecurityError) {
            try Self.configure(context, profiles: profiles)
        } catch {
            SSL_CTX_free(context)
            throw error
        }
        self.pointer = context
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    private static func configure(_ context: OpaquePointer, profiles: [SRTPProfile]) throws(SecurityError) {
        _ = SSL_CTX_set_options(context, copenssl_dtls_options())
        _ = copenssl_disable_session_cache(context)
        let names = profiles.map(\.openSSLName).joined(separator: ":")
        let steps: [(String, Bool)] = [
            ("set DTLS 1.2", copenssl_set_protocol_versions(context, DTLS1_2_VERSION, DTLS1_2_VERSION) == 1),
            ("set the cipher suites", SSL_CTX_set_cipher_list(context, cipherSuites) == 1),
            ("set the groups", copenssl_set_groups(context, groups) == 1),
            // The trap: this one function returns 0 for success.
            ("set the SRTP profiles", SSL_CTX_set_tlsext_use_srtp(context, names) == 0),
        ]
        if let failed = steps.first(where: { !$0.1 }) { throw OpenSSLErrors.failure(failed.0) }

        // RFC 8827 §6.5: certificates on both sides. OpenSSL proves that the peer holds the private key (the
        // handshake's signature); whether the certificate is the promised one is ours to decide, in place of
        // OpenSSL's search for an issuer.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        SSL_CTX_set_cert_verify_callback(context, PeerVerifier.callback, nil)
    }
}

extension SRTPProfile {
    /// The profile's name in OpenSSL's lists.
    fileprivate var openSSLName: String {
        switch self {
        case .aeadAES128GCM: "SRTP_AEAD_AES_128_GCM"
        case .aeadAES256GCM: "SRTP_AEAD_AES_256_GCM"
        case .aes128CMHMACSHA1_80: "SRTP_AES128_CM_SHA1_80"
        }
    }
}
