/// The one transport of a peer connection (`transport`): always bundled, RTCP on the same port.
public struct TransportStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// Datagrams of every protocol.
    public var packetsSent: UInt64 = 0
    /// Datagrams of every protocol.
    public var packetsReceived: UInt64 = 0
    /// Their bytes, without those of UDP and IP.
    public var bytesSent: UInt64 = 0
    /// Their bytes, without those of UDP and IP.
    public var bytesReceived: UInt64 = 0
    /// Datagrams of no known protocol, and packets that do not parse.
    public var packetsDropped: UInt64 = 0
    /// Packets whose protection did not hold, or that were replayed.
    public var srtpFailures: UInt64 = 0
    /// `new`, `connecting`, `connected`, `closed` or `failed`.
    public var dtlsState: String = "new"
    /// As W3C names them.
    public var iceState: String = "new"
    /// `controlling`, `controlled`, or `unknown` before the descriptions have decided.
    public var iceRole: String = "unknown"
    /// Our half of the ICE credential's name.
    public var iceLocalUsernameFragment: String?
    /// `client`, `server`, or `unknown` before the descriptions have decided.
    public var dtlsRole: String = "unknown"
    /// Four hexadecimal digits, as `FEFD` for DTLS 1.2; nil before the handshake is done.
    public var tlsVersion: String?
    /// IANA's name, as `TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256`; nil before the handshake is done.
    public var dtlsCipher: String?
    /// The `certificate` entry that is ours; nil before the handshake is done.
    public var localCertificateID: String?
    /// The `certificate` entry that is the peer's; nil before the handshake is done.
    public var remoteCertificateID: String?
    /// IANA's name, as `SRTP_AEAD_AES_128_GCM`; nil before the handshake.
    public var srtpCipher: String?
    /// The `candidate-pair` entry in use; nil before there is one.
    public var selectedCandidatePairID: String?
    /// How often a pair was selected, the first one counted.
    public var selectedCandidatePairChanges: UInt64 = 0

    public init(id: String, timestamp: Instant) {
        self.id = id
        self.timestamp = timestamp
    }
}

/// Two candidates that were paired (`candidate-pair`).
public struct CandidatePairStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// The `local-candidate` entry.
    public var localCandidateID: String
    /// The `remote-candidate` entry.
    public var remoteCandidateID: String
    /// `frozen`, `waiting`, `in-progress`, `failed` or `succeeded`.
    public var state: String
    /// The `transport` entry.
    public var transportID: String?
    /// Datagrams of DTLS, RTP and RTCP that went this way; those of ICE do not count.
    public var packetsSent: UInt64 = 0
    /// Likewise, that came.
    public var packetsReceived: UInt64 = 0
    /// Their bytes, without those of UDP and IP.
    public var bytesSent: UInt64 = 0
    /// Their bytes, without those of UDP and IP.
    public var bytesReceived: UInt64 = 0
    /// When the last of them left; nil before the first.
    public var lastPacketSentTimestamp: Instant?
    /// When the last of them came; nil before the first.
    public var lastPacketReceivedTimestamp: Instant?
    /// Checks of consent to send (RFC 7675), likewise told at the selected pair.
    public var consentRequestsSent: UInt64 = 0
    /// Whether the pair was chosen to carry media.
    public var nominated = false
    /// In seconds; nil before a measurement.
    public var currentRoundTripTime: Double?
    /// In seconds: the sum of all measurements.
    public var totalRoundTripTime: Double = 0
    /// The agent's checks over all pairs, without repetitions; told at the selected pair, 0 elsewhere.
    public var requestsSent: UInt64 = 0
    /// The peer's requests, likewise.
    public var requestsReceived: UInt64 = 0
    /// Answers to the peer, likewise.
    public var responsesSent: UInt64 = 0
    /// The peer's answers, likewise.
    public var responsesReceived: UInt64 = 0
    /// In bits a second: what the path is thought to carry. Told at the selected pair; nil elsewhere, and while the
    /// peer has said nothing that it could be known from.
    public var availableOutgoingBitrate: Double?

    public init(id: String, timestamp: Instant, localCandidateID: String, remoteCandidateID: String, state: String) {
        self.id = id
        self.timestamp = timestamp
        self.localCandidateID = localCandidateID
        self.remoteCandidateID = remoteCandidateID
        self.state = state
    }
}

/// An ICE candidate (`local-candidate`, `remote-candidate`).
public struct CandidateStats: Sendable, Hashable {
    /// Whose candidate it is.
    public enum Side: Sendable, Hashable {
        case local, remote
    }

    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// Whose candidate it is.
    public var side: Side
    /// `host`, `srflx`, `prflx` or `relay`.
    public var candidateType: String
    /// `udp` or `tcp`.
    public var transportProtocol: String
    /// As it was signaled (RFC 8445 §5.1.2).
    public var priority: UInt32
    /// Nil where it is not to be shown: behind mDNS, or peer-reflexive.
    public var address: String?
    /// Of UDP or TCP.
    public var port: UInt16
    /// The `transport` entry.
    public var transportID: String?
    /// Equal for candidates of one kind and origin (RFC 8445 §5.1.1.3).
    public var foundation: String?
    /// The base of a reflexive candidate; nil where there is none to show.
    public var relatedAddress: String?
    /// The port of `relatedAddress`.
    public var relatedPort: UInt16?
    /// Of the credential that the candidate belongs to.
    public var usernameFragment: String?
    /// `active`, `passive` or `so`; nil for UDP.
    public var tcpType: String?
    /// How the TURN server is reached that gave it: `udp`, `tcp` or `tls`; nil where none did, and of the peer's.
    public var relayProtocol: String?
    /// That server, as the application wrote it.
    public var url: String?

    public init(
        id: String, timestamp: Instant, side: Side, candidateType: String, transportProtocol: String,
        priority: UInt32, address: String?, port: UInt16
    ) {
        self.id = id
        self.timestamp = timestamp
        self.side = side
        self.candidateType = candidateType
        self.transportProtocol = transportProtocol
        self.priority = priority
        self.address = address
        self.port = port
    }
}

/// A negotiated payload type (`codec`).
public struct CodecStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// Its number in RTP.
    public var payloadType: UInt8
    /// As `video/H264`.
    public var mimeType: String
    /// Ticks of the timestamp in a second.
    public var clockRate: UInt32
    /// Of sound; nil for video.
    public var channels: UInt8?
    /// The format parameters of the session description; nil when there are none.
    public var sdpFmtpLine: String?
    /// The `transport` entry.
    public var transportID: String?

    public init(
        id: String, timestamp: Instant, payloadType: UInt8, mimeType: String, clockRate: UInt32,
        channels: UInt8? = nil, sdpFmtpLine: String? = nil
    ) {
        self.id = id
        self.timestamp = timestamp
        self.payloadType = payloadType
        self.mimeType = mimeType
        self.clockRate = clockRate
        self.channels = channels
        self.sdpFmtpLine = sdpFmtpLine
    }
}
