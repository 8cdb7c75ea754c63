internal import RTCWire

/// A fragment that was given a TSN, until the peer has acknowledged it and all before it.
struct SCTPSentChunk: Sendable {
    enum Fate: Sendable {
        /// On its way, as far as we know.
        case inFlight
        /// To be sent again.
        case lost
        /// Named by a gap block: it has come, ones before it have not.
        case acknowledged
        /// RFC 3758 §3.5 A3: given up.
        case abandoned
    }

    /// Without the TSN, which is its place in `SCTPFlight`.
    var header: SCTPDataHeader
    /// The whole message: fragments share it.
    var message: [UInt8]
    let range: Range<Int>
    /// Give up at the next loss once this time has come, or after so many more retransmissions.
    let expiry: Instant?
    var retransmissionsLeft: Int?
    var fate = Fate.inFlight
    var sentAt: Instant
    /// RFC 9260 §6.3.1 C4 (Karn): what was sent twice measures nothing.
    var wasRetransmitted = false
    /// §7.2.4: acknowledgments of what was sent later.
    var misses = 0
    /// Only acknowledgments of TSNs from here on say that this transmission was lost.
    var sentBefore: UInt32

    /// What a chunk takes beyond its bytes, in the limit on what is kept.
    static let overhead = 128

    var count: Int { range.count }

    func isGivenUp(at now: Instant) -> Bool {
        if let left = retransmissionsLeft, left <= 0 { return true }
        if let expiry { return expiry <= now }
        return false
    }
}
