import COpenSSL
public import RTCEngine

extension DTLSAssociation {
    /// What the handshake agreed on; nil before its end, and once the association is over.
    public var details: DTLSDetails? { session?.details }
}

extension DTLSSession {
    /// Certificates are encoded anew for each call: it is for statistics.
    var details: DTLSDetails? {
        guard SSL_is_init_finished(ssl) == 1, let cipher = SSL_get_current_cipher(ssl),
            let name = SSL_CIPHER_standard_name(cipher), let own = SSL_get_certificate(ssl),
            let peer = SSL_get1_peer_certificate(ssl)
        else { return nil }
        defer { X509_free(peer) }
        guard let local = Certificate.encoded(own), let remote = Certificate.encoded(peer) else { return nil }
        return DTLSDetails(
            version: UInt16(truncatingIfNeeded: SSL_version(ssl)), cipher: String(cString: name),
            localCertificate: local, remoteCertificate: remote)
    }
}

extension Certificate {
    /// The certificate in DER; nil when OpenSSL fails.
    static func encoded(_ certificate: OpaquePointer) -> [UInt8]? {
        let count = Int(i2d_X509(certificate, nil))
        guard count > 0 else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            // The trap: i2d moves the pointer that it is given behind what it wrote.
            var end = buffer.baseAddress
            initialized = Int(max(0, i2d_X509(certificate, &end)))
        }
        return bytes.count == count ? bytes : nil
    }
}
