/// What an association wants done or has to tell.
public enum SCTPOutput: Hashable, Sendable {
    /// Send this packet as one DTLS record of application data (RFC 8261 §3).
    case send([UInt8])
    /// Both sides agree; how many streams each direction may use.
    case established(inboundStreams: UInt16, outboundStreams: UInt16)
    /// RFC 9260 §5.2.4.1: the peer has lost its state and begun anew. Every stream starts at its first message, what
    /// was queued is gone. `established` comes next.
    case restarted
    case message(SCTPReceivedMessage)
    /// The peer has reset its outgoing side of these streams, of all when none is named (RFC 6525 §4.1); nothing
    /// follows on them until they are used anew.
    case incomingStreamsReset([UInt16])
    /// Our outgoing side of these streams is reset, as asked by `resetStreams`.
    case outgoingStreamsReset([UInt16])
    /// The peer does not reset streams, or has not done so with these (RFC 6525 §4.4): their messages are counted on.
    /// Or it takes nothing on them.
    case outgoingStreamsNotReset([UInt16])
    /// Less of this stream waits than before; see `bufferedAmount(of:)`.
    case bufferedAmountDecreased(UInt16)
    /// The association is over; no output follows but an answer to packets that come late.
    case closed(SCTPCloseReason)
}

/// Why an association ended.
public enum SCTPCloseReason: Error, Hashable, Sendable {
    /// `shutdown` or the peer's, after all data had arrived.
    case shutdown
    /// `abort` was called.
    case aborted
    /// The peer aborted; the code of its first error cause (RFC 9260 §3.3.10), if it gave one.
    case abortedByPeer(cause: UInt16?)
    /// Nobody answered the handshake (RFC 9260 §5.1).
    case handshakeTimedOut
    /// The peer stopped acknowledging (RFC 9260 §8.1).
    case peerUnreachable
    /// The peer began more messages at once than `SCTPConfiguration.receiveBuffer` has room for, so that none could
    /// end.
    case outOfBuffer
    /// The peer broke the rules, in a way that a log may tell.
    case protocolViolation(String)
}
