/// Figures of one association since it began; W3C `RTCSctpTransport` and data channel statistics are made of them.
public struct SCTPStatistics: Hashable, Sendable {
    /// The smoothed round trip (RFC 9260 §6.3.1); nil before the first measurement.
    public var smoothedRoundTripTime: Interval?
    /// The congestion window. Bytes.
    public var congestionWindow = 0
    /// How much the peer says it can still take. Bytes.
    public var remoteReceiveWindow = 0
    /// The largest packet we send, without DTLS. Bytes.
    public var maximumPacketSize = 0
    /// DATA chunks sent and not acknowledged.
    public var unacknowledgedChunks = 0
    /// Bytes of user data in flight.
    public var bytesInFlight = 0
    public var packetsSent = 0
    public var packetsReceived = 0
    /// SCTP packets' bytes.
    public var bytesSent = 0
    public var bytesReceived = 0
    /// Messages handed to the network whole, and delivered.
    public var messagesSent = 0
    public var messagesReceived = 0
    /// Messages that partial reliability gave up.
    public var messagesAbandoned = 0
    /// DATA chunks sent more than once: after the timer, and because later ones were acknowledged.
    public var chunksRetransmitted = 0
    public var fastRetransmissions = 0
    public var retransmissionTimeouts = 0
    /// DATA chunks that had come before.
    public var duplicateChunksReceived = 0
    /// Packets passed over: malformed, with a wrong checksum or verification tag, or of nobody's.
    public var packetsDiscarded = 0
}
