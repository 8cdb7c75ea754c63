public import RTCEngine

/// DTLS and SRTP for peer connections, over the system's OpenSSL. One value, with one certificate, may serve any
/// number of connections from any thread.
public struct OpenSSLSecurity: SecurityProvider {
    /// Our certificate, made once.
    public let certificate: Certificate
    private let context: DTLSContext
    private let mtu: Int

    /// - Parameters:
    ///   - profiles: the SRTP profiles to offer and accept, best first; browsers have the first and the last.
    ///   - mtu: the largest datagram of a handshake, in bytes.
    public init(
        profiles: [SRTPProfile] = SRTPProfile.allCases, mtu: Int = DTLSAssociation.defaultMTU
    ) throws(SecurityError) {
        self.certificate = try Certificate()
        self.context = DTLSContext(certificate: certificate, rules: try .shared(profiles))
        self.mtu = mtu
    }

    /// Our certificate's SHA-256 fingerprint, for the session description.
    public var localFingerprint: Fingerprint { certificate.fingerprint }

    /// A new association that has not begun.
    public func makeDTLS() -> any DTLSPort { DTLSAssociation(context: context, mtu: mtu) }

    /// Contexts for the keys of a finished handshake.
    public func makeSRTP(_ keys: SRTPKeyingMaterial) throws(SRTPError) -> any SRTPPort {
        try SRTPContext(keys)
    }

    /// Nil where there is no library for it (`CPacketCiphers`).
    public func makeSealingBatch() -> (any SealingBatch)? { CounterModeBatch() }
}
