internal import RTCWire

/// What is kept while an association is set up (RFC 9260 §5.1).
struct SCTPHandshake: Sendable {
    /// Ours, in every INIT and INIT ACK until the association is established (§5.2.1).
    var localTag: UInt32
    var localInitialTSN: UInt32
    /// Known from the INIT ACK on.
    var peer: SCTPPeer?
    /// What the peer's INIT ACK gave us to bring back, and what of it we did not understand.
    var cookie: [UInt8] = []
    var unrecognized: [SCTPParameter] = []
    /// T1-init and T1-cookie.
    var deadline: Instant?
    var interval: Interval
    var retransmissions = 0

    init(random: inout EngineRandom, interval: Interval) {
        // §5.3.1: a tag is never 0.
        localTag = UInt32(truncatingIfNeeded: random.next()) | 1
        localInitialTSN = UInt32(truncatingIfNeeded: random.next())
        self.interval = interval
    }
}
