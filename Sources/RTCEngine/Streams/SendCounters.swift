/// What a `SendStream` counts.
struct SendCounters: Sendable {
    /// Under the stream's own SSRC, as a sender report counts them.
    var packetsSent: UInt64 = 0
    /// Payload only.
    var bytesSent: UInt64 = 0
    var headerBytesSent: UInt64 = 0
    var framesSent: UInt64 = 0
    /// Retransmissions and padding under an SSRC of their own.
    var rtxPacketsSent: UInt64 = 0
    var rtxBytesSent: UInt64 = 0
    var rtxHeaderBytesSent: UInt64 = 0
    var retransmittedPacketsSent: UInt64 = 0
    var retransmittedBytesSent: UInt64 = 0
    /// Asked for again within a round trip.
    var retransmissionsUnderway: UInt64 = 0
    /// Asked for when no longer, or never, in the history.
    var retransmissionsUnknown: UInt64 = 0
    var keyFramesSent: UInt64 = 0
    var nackCount: UInt64 = 0
    var pliCount: UInt64 = 0
    var firCount: UInt64 = 0
    var reportsSent: UInt64 = 0

    mutating func packetSent(header: Int, payload: Int) {
        packetsSent += 1
        headerBytesSent += UInt64(header)
        bytesSent += UInt64(payload)
    }

    /// - Parameters:
    ///   - header: with the original's number (RFC 4588 §4), and padding.
    ///   - payload: of the original.
    mutating func rtxPacketSent(header: Int, payload: Int) {
        rtxPacketsSent += 1
        rtxBytesSent += UInt64(payload)
        rtxHeaderBytesSent += UInt64(header)
    }

    /// - Parameter countsAsMedia: a plain retransmission is a packet of the stream itself, RTX is another stream.
    mutating func packetResent(header: Int, payload: Int, countsAsMedia: Bool) {
        retransmittedPacketsSent += 1
        retransmittedBytesSent += UInt64(payload)
        guard !countsAsMedia else { return packetSent(header: header, payload: payload) }
        rtxPacketSent(header: header, payload: payload)
    }
}
