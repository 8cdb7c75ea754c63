/// How long the sender of a message tries (RFC 8831 §6.6, RFC 3758).
public enum SCTPReliability: Hashable, Sendable {
    /// Until it has arrived or the association is over.
    case reliable
    /// RFC 7496 §3.2: each piece is sent at most once plus this often.
    case maxRetransmits(UInt16)
    /// RFC 3758 §4.1: until so long after `send`.
    case maxLifetime(Interval)
}

/// A message to be sent on a stream.
public struct SCTPMessage: Sendable {
    public var stream: UInt16
    /// RFC 8831 §8: what the bytes are, such as 51 for a string and 53 for binary data.
    public var payloadProtocol: UInt32
    /// At least one byte: SCTP has no empty messages (RFC 9260 §3.3.1), which is why RFC 8831 §6.6 has identifiers for
    /// them.
    public var bytes: [UInt8]
    public var isOrdered: Bool
    public var reliability: SCTPReliability

    public init(
        stream: UInt16, payloadProtocol: UInt32, bytes: [UInt8], isOrdered: Bool = true,
        reliability: SCTPReliability = .reliable
    ) {
        self.stream = stream
        self.payloadProtocol = payloadProtocol
        self.bytes = bytes
        self.isOrdered = isOrdered
        self.reliability = reliability
    }
}

/// A message that has arrived whole, and in its order where it has one.
public struct SCTPReceivedMessage: Hashable, Sendable {
    public var stream: UInt16
    public var payloadProtocol: UInt32
    public var bytes: [UInt8]

    public init(stream: UInt16, payloadProtocol: UInt32, bytes: [UInt8]) {
        self.stream = stream
        self.payloadProtocol = payloadProtocol
        self.bytes = bytes
    }
}

/// Why a message was not taken.
public enum SCTPSendError: Error, Hashable, Sendable {
    /// It has no bytes; see ``SCTPMessage/bytes``.
    case messageEmpty
    /// Larger than the peer takes.
    case messageTooLarge(limit: Int)
    /// The association is over, or shutting down.
    case closed
    /// More is queued than `SCTPConfiguration.sendBuffer`. Wait for `bufferedAmountDecreased`.
    case bufferFull
    /// The stream is being reset, or its number is beyond what the peer grants.
    case streamClosing
}
