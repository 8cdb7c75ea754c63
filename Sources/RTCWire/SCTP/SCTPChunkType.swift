/// The chunks that we know (RFC 9260 §3.2, RFC 3758, RFC 6525, RFC 8260).
public enum SCTPChunkType: UInt8, Sendable, CaseIterable {
    case data = 0
    case initiation = 1
    case initiationAcknowledgment = 2
    case selectiveAcknowledgment = 3
    case heartbeat = 4
    case heartbeatAcknowledgment = 5
    case abort = 6
    case shutdown = 7
    case shutdownAcknowledgment = 8
    case error = 9
    case cookieEcho = 10
    case cookieAcknowledgment = 11
    case shutdownComplete = 14
    case interleavedData = 0x40
    case reconfiguration = 0x82
    case forwardTSN = 0xc0
    case interleavedForwardTSN = 0xc2
}

/// What to do with a chunk or parameter whose type is not known: its two highest bits say so (RFC 9260 §3.2, §3.2.1).
public struct SCTPUnknownAction: Hashable, Sendable {
    /// Otherwise the rest of the packet, or of the parameters, is not looked at.
    public let goesOn: Bool
    /// Tell the peer in an ERROR chunk, or as an Unrecognized Parameter.
    public let reports: Bool

    public init(chunkType: UInt8) {
        goesOn = chunkType & 0x80 != 0
        reports = chunkType & 0x40 != 0
    }

    public init(parameterType: UInt16) { self.init(chunkType: UInt8(parameterType >> 8)) }
}

/// Bits of the chunk header's flags.
public enum SCTPChunkFlag {
    /// ABORT and SHUTDOWN COMPLETE: the verification tag is the sender's own (RFC 9260 §8.5.1).
    public static let reflectedTag: UInt8 = 0x01
    /// DATA and I-DATA (RFC 9260 §3.3.1, RFC 7053 for the last).
    static let end: UInt8 = 0x01
    static let beginning: UInt8 = 0x02
    static let unordered: UInt8 = 0x04
    public static let acknowledgeNow: UInt8 = 0x08
}
