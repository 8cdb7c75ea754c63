import COpenSSL

/// What a TLS server shows its clients: a certificate chain, and its key. Read once; shared by its connections.
public final class TLSIdentity: @unchecked Sendable {
    // Not changed after `init`; OpenSSL counts its references under a lock of its own.
    let context: OpaquePointer

    /// - Parameters:
    ///   - certificateChain: a PEM file, the server's own certificate first.
    ///   - privateKey: a PEM file.
    public init(certificateChain: String, privateKey: String) throws(SecurityError) {
        OpenSSLErrors.clear()
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw OpenSSLErrors.failure("make a TLS context") }
        do throws(SecurityError) {
            try Self.configure(context, certificateChain, privateKey)
        } catch {
            SSL_CTX_free(context)
            throw error
        }
        self.context = context
    }

    deinit { SSL_CTX_free(context) }

    private static func configure(
        _ context: OpaquePointer, _ certificateChain: String, _ privateKey: String
    ) throws(SecurityError) {
        guard SSL_CTX_use_certificate_chain_file(context, certificateChain) == 1 else {
            throw OpenSSLErrors.failure("read the certificate")
        }
        guard SSL_CTX_use_PrivateKey_file(context, privateKey, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context) == 1
        else { throw OpenSSLErrors.failure("read the certificate's key") }
        // RFC 9325 §3.1.1: nothing below TLS 1.2.
        guard copenssl_set_protocol_versions(context, TLS1_2_VERSION, TLS1_3_VERSION) == 1 else {
            throw OpenSSLErrors.failure("set the TLS versions")
        }
        _ = copenssl_disable_session_cache(context)
        copenssl_use_server_options(context)
    }
}
