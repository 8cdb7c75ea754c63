/// A data channel (`data-channel`).
public struct DataChannelStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// What the channel is called; need not be unique.
    public var label: String
    /// The subprotocol on it; may be empty.
    public var `protocol`: String
    /// The stream; nil before there is one.
    public var dataChannelIdentifier: UInt16?
    /// `connecting`, `open`, `closing` or `closed`.
    public var state: String
    /// Messages that the application has sent.
    public var messagesSent: UInt64 = 0
    /// Their bytes.
    public var bytesSent: UInt64 = 0
    /// Messages that were given to the application.
    public var messagesReceived: UInt64 = 0
    /// Their bytes.
    public var bytesReceived: UInt64 = 0

    public init(id: String, timestamp: Instant, label: String, protocol: String, state: String) {
        self.id = id
        self.timestamp = timestamp
        self.label = label
        self.protocol = `protocol`
        self.state = state
    }
}

/// The SCTP association under the data channels (`sctp-transport`).
public struct SCTPTransportStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// The `transport` entry that carries it.
    public var transportID: String
    /// In seconds; nil before a measurement.
    public var smoothedRoundTripTime: Double?
    /// In bytes.
    public var congestionWindow: UInt64 = 0
    /// What the peer can still take, in bytes.
    public var receiverWindow: UInt64 = 0
    /// The largest packet, without DTLS, in bytes.
    public var mtu: UInt64 = 0
    /// Chunks of data that were sent and not acknowledged.
    public var unackData: UInt64 = 0
    /// Packets of SCTP that were sent. Beyond W3C's.
    public var packetsSent: UInt64 = 0
    /// Packets of SCTP that came. Beyond W3C's.
    public var packetsReceived: UInt64 = 0
    /// In the packets that were sent, without DTLS. Beyond W3C's.
    public var bytesSent: UInt64 = 0
    /// In the packets that came, without DTLS. Beyond W3C's.
    public var bytesReceived: UInt64 = 0
    /// Chunks of data that went out again. Beyond W3C's.
    public var retransmissions: UInt64 = 0

    public init(id: String, timestamp: Instant, transportID: String) {
        self.id = id
        self.timestamp = timestamp
        self.transportID = transportID
    }
}
