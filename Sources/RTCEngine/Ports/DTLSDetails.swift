/// What a finished handshake agreed on, for statistics.
public struct DTLSDetails: Sendable, Equatable {
    /// As it is on the wire: 0xfefd for DTLS 1.2.
    public var version: UInt16
    /// IANA's name of the cipher suite.
    public var cipher: String
    /// In DER.
    public var localCertificate: [UInt8]
    /// In DER.
    public var remoteCertificate: [UInt8]

    public init(version: UInt16, cipher: String, localCertificate: [UInt8], remoteCertificate: [UInt8]) {
        self.version = version
        self.cipher = cipher
        self.localCertificate = localCertificate
        self.remoteCertificate = remoteCertificate
    }
}
