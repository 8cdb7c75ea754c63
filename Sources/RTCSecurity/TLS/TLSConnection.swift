import COpenSSL

/// One TLS connection (RFC 8446, RFC 5246) over OpenSSL, from either end and without a socket: encrypted bytes go in
/// and out through memory.
public final class TLSConnection {
    private enum Phase: Equatable {
        case idle, handshaking, open
        case over(String)
    }

    private let ssl: OpaquePointer
    /// Owned by `ssl`.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private var phase: Phase
    private var buffer: [UInt8] = []
    /// What the other end is called in sentences.
    private let peer: String

    /// What one reading takes: the most that a record holds.
    private static let readSize = 16 << 10

    /// To a server, whose certificate has to be issued by an authority and bear the host's name or address.
    /// - Parameters:
    ///   - host: the name, or address, that the certificate has to bear (RFC 9525 §6).
    ///   - authorities: a PEM file of the authorities that are trusted; nil for the system's.
    public convenience init(to host: String, authorities: String? = nil) throws(SecurityError) {
        OpenSSLErrors.clear()
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw OpenSSLErrors.failure("make a TLS context") }
        // The session keeps it.
        defer { SSL_CTX_free(context) }
        try Self.configure(context, authorities: authorities)
        try self.init(context, phase: .idle, peer: "server")
        SSL_set_connect_state(ssl)
        guard Self.expect(host, on: ssl) else { throw OpenSSLErrors.failure("set the server's name") }
    }

    /// From a client that has connected to us; it begins.
    public convenience init(as identity: TLSIdentity) throws(SecurityError) {
        OpenSSLErrors.clear()
        try self.init(identity.context, phase: .handshaking, peer: "client")
        SSL_set_accept_state(ssl)
    }

    private init(_ context: OpaquePointer, phase: Phase, peer: String) throws(SecurityError) {
        guard let ssl = SSL_new(context) else { throw OpenSSLErrors.failure("make a TLS session") }
        guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
            SSL_free(ssl)
            throw OpenSSLErrors.failure("make a memory BIO")
        }
        // From here on they are the session's.
        SSL_set_bio(ssl, incoming, outgoing)
        (self.ssl, self.incoming, self.outgoing) = (ssl, incoming, outgoing)
        self.phase = phase
        self.peer = peer
    }

    deinit { SSL_free(ssl) }

    private static func configure(_ context: OpaquePointer, authorities: String?) throws(SecurityError) {
        let trusts =
            if let authorities {
                SSL_CTX_load_verify_file(context, authorities) == 1
            } else {
                SSL_CTX_set_default_verify_paths(context) == 1
            }
        guard trusts else { throw OpenSSLErrors.failure("read the certificate authorities") }
        // RFC 9325 §3.1.1: nothing below TLS 1.2.
        guard copenssl_set_protocol_versions(context, TLS1_2_VERSION, TLS1_3_VERSION) == 1 else {
            throw OpenSSLErrors.failure("set the TLS versions")
        }
        _ = copenssl_disable_session_cache(context)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    }

    private static func expect(_ host: String, on ssl: OpaquePointer) -> Bool {
        // An address is checked as such, and is no server name (RFC 6066 §3).
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1 { return true }
        OpenSSLErrors.clear()
        SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        return SSL_set1_host(ssl, host) == 1 && copenssl_set_server_name(ssl, host) == 1
    }

    // MARK: State

    /// The handshake is done and the server is who it should be.
    public var isOpen: Bool { phase == .open }

    public var hasBegun: Bool { phase != .idle }

    /// Why it is over, in words; nil while it is not.
    public var failure: String? {
        switch phase {
        case .idle, .handshaking, .open: nil
        case .over(let reason): reason
        }
    }

    // MARK: Bytes

    /// The transport to the server is there: begins the handshake.
    public func begin() {
        guard phase == .idle else { return }
        phase = .handshaking
        handshake()
    }

    /// Takes what came from the other end and appends what it says to `plain`.
    public func receive(_ bytes: [UInt8], into plain: inout [UInt8]) {
        if case .over = phase { return }
        guard BIO_write(incoming, bytes, Int32(clamping: bytes.count)) == Int32(clamping: bytes.count) else {
            return end("no memory for what the \(peer) sent")
        }
        if phase == .handshaking { handshake() }
        if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: Self.readSize) }
        while phase == .open {
            OpenSSLErrors.clear()
            let count = SSL_read(ssl, &buffer, Int32(clamping: buffer.count))
            guard count > 0 else { return judge(count) }
            plain.append(contentsOf: buffer[..<Int(count)])
        }
    }

    /// Encrypts for the other end; to be called while it is open.
    public func write(_ bytes: [UInt8]) {
        guard phase == .open, !bytes.isEmpty else { return }
        OpenSSLErrors.clear()
        let count = SSL_write(ssl, bytes, Int32(clamping: bytes.count))
        if count <= 0 { judge(count) }
    }

    /// What is to be sent to the other end since the last call.
    public func takeOutbound() -> [UInt8] {
        let size = Int(BIO_ctrl_pending(outgoing))
        guard size > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: size) { bytes, count in
            count = max(0, Int(BIO_read(outgoing, bytes.baseAddress, Int32(clamping: size))))
        }
    }

    /// Says that nothing more will come. Safe in every state.
    public func close() {
        guard phase == .open else { return }
        OpenSSLErrors.clear()
        _ = SSL_shutdown(ssl)
        OpenSSLErrors.clear()
        end("closed by this side")
    }

    private func handshake() {
        OpenSSLErrors.clear()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            phase = .open
        } else {
            judge(result)
        }
    }

    /// What a call that has not succeeded means.
    private func judge(_ result: Int32) {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
        case SSL_ERROR_ZERO_RETURN: end("the \(peer) ended the TLS connection")
        default:
            let verdict = SSL_get_verify_result(ssl)
            if verdict != Int(X509_V_OK), phase == .handshaking {
                let reason = X509_verify_cert_error_string(verdict).map { String(cString: $0) } ?? "not trusted"
                end("the \(peer)'s certificate was refused: \(reason)")
                OpenSSLErrors.clear()
            } else {
                end("TLS failed: \(OpenSSLErrors.drain())")
            }
        }
    }

    private func end(_ reason: String) { phase = .over(reason) }
}
