/// The timers of RFC 9260 that are not the handshake's.
struct SCTPTimers: Sendable {
    /// T3-rtx (§6.3.2).
    var retransmission: Instant?
    /// T2-shutdown (§9.2).
    var shutdown: Instant?
    /// How long it waits next, once it has waited in vain.
    var shutdownInterval: Interval?
    /// T5-shutdown-guard (§9.2): the end of all patience.
    var shutdownGuard: Instant?
    /// §8.3: the next HEARTBEAT, or the end of waiting for the answer to one.
    var heartbeat: Instant?
    var heartbeatNonce: UInt64?
    var heartbeatSentAt = Instant.zero
    /// §8.1: what went unanswered in a row.
    var errors = 0

    var next: Instant? {
        earliest(earliest(retransmission, heartbeat), earliest(shutdown, shutdownGuard))
    }
}

/// The earlier of two times that may be none.
func earliest(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left else { return right }
    guard let right else { return left }
    return min(left, right)
}
