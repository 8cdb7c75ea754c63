/// The peer connection as a whole (`peer-connection`).
public struct PeerConnectionStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// Channels that have been open.
    public var dataChannelsOpened: UInt64 = 0
    /// Those among them that are open no more.
    public var dataChannelsClosed: UInt64 = 0

    public init(id: String, timestamp: Instant) {
        self.id = id
        self.timestamp = timestamp
    }
}

/// What a sender's frames come from (`media-source`). Frames arrive here encoded, so their size and rate are not known.
public struct MediaSourceStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// The track's identifier, as `a=msid` has it.
    public var trackIdentifier: String
    /// `audio` or `video`.
    public var kind: String

    public init(id: String, timestamp: Instant, trackIdentifier: String, kind: String) {
        self.id = id
        self.timestamp = timestamp
        self.trackIdentifier = trackIdentifier
        self.kind = kind
    }
}

/// A certificate of the DTLS handshake (`certificate`).
public struct CertificateStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// Pairs of upper-case hexadecimal digits with colons (RFC 8122 §5).
    public var fingerprint: String
    /// As `sha-256`.
    public var fingerprintAlgorithm: String
    /// The certificate in DER, in Base64.
    public var base64Certificate: String

    public init(
        id: String, timestamp: Instant, fingerprint: String, fingerprintAlgorithm: String, base64Certificate: String
    ) {
        self.id = id
        self.timestamp = timestamp
        self.fingerprint = fingerprint
        self.fingerprintAlgorithm = fingerprintAlgorithm
        self.base64Certificate = base64Certificate
    }
}
