import COpenSSL
import RTCEngine

/// Decides, in the middle of a handshake, whether the peer is the one that signaling promised. Being asked there
/// and not after the handshake lets OpenSSL answer with an alert.
final class PeerVerifier {
    enum Verdict {
        case undecided
        case accepted
        case rejected(DTLSCloseReason)
    }

    private let fingerprints: [Fingerprint]
    /// Media is negotiated: a peer without a common profile is refused.
    let needsSRTP: Bool
    private(set) var verdict = Verdict.undecided

    init(fingerprints: [Fingerprint], needsSRTP: Bool) {
        self.fingerprints = fingerprints
        self.needsSRTP = needsSRTP
    }

    /// Ties this verifier to an association; it must outlive it.
    func attach(to ssl: OpaquePointer) -> Bool {
        SSL_set_ex_data(ssl, Self.dataIndex, Unmanaged.passUnretained(self).toOpaque()) == 1
    }

    /// Index 0 is the application's own (`SSL_set_app_data`).
    private static let dataIndex: Int32 = 0

    /// OpenSSL's question "is this chain good?": 1 for yes, 0 to fail the handshake.
    static let callback: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { store, _ in
        guard let store,
            let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
            let data = SSL_get_ex_data(OpaquePointer(ssl), PeerVerifier.dataIndex)
        else { return 0 }
        let verifier = Unmanaged<PeerVerifier>.fromOpaque(data).takeUnretainedValue()
        return verifier.decide(store: store, ssl: OpaquePointer(ssl)) ? 1 : 0
    }

    private func decide(store: OpaquePointer, ssl: OpaquePointer) -> Bool {
        // RFC 5764 §4.1: by now both hellos are known. Without a common profile there is nothing to protect media
        // with; the error is one that OpenSSL turns into handshake_failure.
        guard !needsSRTP || SSL_get_selected_srtp_profile(ssl) != nil else {
            X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
            verdict = .rejected(.noSRTPProfile)
            return false
        }
        // RFC 8122 §6.2: no match ends the session with bad_certificate.
        guard let certificate = X509_STORE_CTX_get0_cert(store), matches(certificate) else {
            X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED)
            verdict = .rejected(.fingerprintMismatch)
            return false
        }
        X509_STORE_CTX_set_error(store, X509_V_OK)
        verdict = .accepted
        return true
    }

    /// RFC 8122 §5.1: of several fingerprints any one may match; hash functions that we refuse never do.
    private func matches(_ certificate: OpaquePointer) -> Bool {
        fingerprints.contains { promised in
            guard let algorithm = FingerprintAlgorithm(rawValue: promised.algorithm.lowercased()),
                let actual = Certificate.fingerprint(of: certificate, algorithm: algorithm)
            else { return false }
            return actual.value == promised.value
        }
    }
}
