import COpenSSL
import RTCEngine

/// One OpenSSL handshake and what follows it: owns the `SSL`, its BIO and what its callbacks point at. Knows no
/// time and no queue; `DTLSAssociation` has those.
final class DTLSSession {
    /// How far a call into OpenSSL came.
    enum Progress {
        /// Nothing more until the next datagram or time-out.
        case waiting
        /// The handshake is complete.
        case finished
        /// The peer sent close_notify.
        case closedByPeer
        /// It is over; the text is OpenSSL's.
        case failed(String)
    }

    let ssl: OpaquePointer
    let role: DTLSRole
    private let verifier: PeerVerifier
    /// How long OpenSSL waits before it repeats a flight.
    let timer = FlightTimer()
    private let pipe: DatagramPipe
    // Keeps the SSL_CTX's owner alive as long as this.
    private let context: DTLSContext

    init(
        context: DTLSContext, role: DTLSRole, fingerprints: [Fingerprint], needsSRTP: Bool, mtu: Int
    ) throws(SecurityError) {
        OpenSSLErrors.clear()
        guard let ssl = SSL_new(context.pointer) else { throw OpenSSLErrors.failure("make a DTLS session") }
        let pipe = DatagramPipe(mtu: mtu)
        let verifier = PeerVerifier(fingerprints: fingerprints, needsSRTP: needsSRTP)
        guard context.identify(ssl), verifier.attach(to: ssl), timer.attach(to: ssl), copenssl_set_mtu(ssl, mtu) != 0,
            let bio = pipe.makeBIO()
        else {
            SSL_free(ssl)
            throw OpenSSLErrors.failure("set up a DTLS session")
        }
        // The trap: SSL_set_bio takes one reference when both directions are the same BIO; SSL_free gives it back.
        SSL_set_bio(ssl, bio, bio)
        switch role {
        case .client: SSL_set_connect_state(ssl)
        case .server: SSL_set_accept_state(ssl)
        }
        self.context = context
        self.role = role
        self.ssl = ssl
        self.pipe = pipe
        self.verifier = verifier
    }

    deinit {
        SSL_free(ssl)
    }

    /// Gives OpenSSL a datagram; the next `handshake` or `read` consumes it.
    func fill(_ datagram: [UInt8]) { pipe.fill(datagram) }

    /// The datagrams that OpenSSL has written since the last call.
    func takeOutbound() -> [[UInt8]] { pipe.takeOutbound() }

    /// As above, after `retransmitIfDue`.
    func takeRepeatedFlight() -> [[UInt8]] { pipe.takeRepeatedFlight() }

    /// Whether a peer without a common SRTP profile is refused.
    var needsSRTP: Bool { verifier.needsSRTP }

    func handshake() -> Progress {
        OpenSSLErrors.clear()
        pipe.dropWritesUntilRead()
        let result = SSL_do_handshake(ssl)
        pipe.discard()
        return result == 1 ? .finished : progress
    }

    /// Reads one record of application data into `buffer`; `count` is what it got.
    func read(into buffer: inout [UInt8], count: inout Int) -> Progress {
        OpenSSLErrors.clear()
        let capacity = Int32(clamping: buffer.count)
        let result = buffer.withUnsafeMutableBytes { SSL_read(ssl, $0.baseAddress, capacity) }
        count = max(0, Int(result))
        return result > 0 ? .finished : progress
    }

    /// One record of application data. One that OpenSSL does not take is lost, as a datagram may be.
    func write(_ data: RawSpan) {
        guard data.byteCount > 0 else { return }
        OpenSSLErrors.clear()
        _ = data.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32(clamping: $0.count)) }
        OpenSSLErrors.clear()
    }

    /// Sends close_notify. Without effect in the middle of a handshake, where OpenSSL refuses.
    func shutdown() {
        OpenSSLErrors.clear()
        _ = SSL_shutdown(ssl)
        OpenSSLErrors.clear()
    }

    /// Retransmits the last flight if OpenSSL's timer has run out.
    func retransmitIfDue() -> Progress {
        OpenSSLErrors.clear()
        return copenssl_dtls_handle_timeout(ssl) < 0 ? progress : .waiting
    }

    /// How long until OpenSSL's timer; nil while it does not run.
    var retransmissionDelay: Interval? {
        let microseconds = copenssl_dtls_timeout_microseconds(ssl)
        return microseconds < 0 ? nil : .microseconds(microseconds)
    }

    /// Why a handshake that OpenSSL failed with `text` really did.
    func failure(_ text: String) -> DTLSCloseReason {
        switch verifier.verdict {
        case .rejected(let reason):
            return reason
        case .accepted:
            return .failed(text)
        case .undecided:
            // A server that found no common profile cannot say so in its hello (RFC 5764 §4.1.1: it leaves the
            // extension out); the client ends the handshake, before our verifier was asked.
            let hasClientHello = role == .server && SSL_get_state(ssl) != TLS_ST_BEFORE
            let lacksProfile = needsSRTP && SSL_get_selected_srtp_profile(ssl) == nil
            return hasClientHello && lacksProfile ? .noSRTPProfile : .failed(text)
        }
    }

    /// How much longer a protected record is than what it protects; the longest while no cipher is agreed on.
    var cipherOverhead: Int {
        guard let cipher = SSL_get_pending_cipher(ssl) ?? SSL_get_current_cipher(ssl) else {
            return DTLSRecords.longestOverhead
        }
        // RFC 7905 §2: ChaCha20-Poly1305 has its nonce from the record's number and adds the tag alone.
        return SSL_CIPHER_get_cipher_nid(cipher) == NID_chacha20_poly1305 ? 16 : DTLSRecords.longestOverhead
    }

    /// What a call that has not succeeded means.
    ///
    /// The trap: `SSL_get_error` takes whatever is in the queue of errors for a failure, also what OpenSSL has noted
    /// about a record that it dropped as RFC 6347 §4.1.2.7 asks; which records leave a note differs between versions.
    /// Whether the association can go on is in its state.
    private var progress: Progress {
        if isBroken { return .failed(OpenSSLErrors.drain()) }
        return SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 ? .closedByPeer : .waiting
    }

    /// OpenSSL has given the association up: a fatal alert went out or came in. It tells so by this name alone.
    private var isBroken: Bool {
        guard let state = SSL_state_string_long(ssl) else { return false }
        return String(cString: state) == "error"
    }
}
