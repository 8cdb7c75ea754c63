internal import RTCWire

/// The congestion window of the one path (RFC 9260 §7.2). All in bytes of user data.
struct SCTPCongestion: Sendable {
    private(set) var window: Int
    private(set) var threshold = Int.max / 4
    private var partialBytes = 0
    /// §7.2.4: fast recovery ends when everything up to here is acknowledged.
    private(set) var recoveryEnd: UInt32?
    private let packet: Int
    /// DATA, and nothing else: what acknowledges or asks whether the peer is there says nothing about the path.
    private var lastSentAt: Instant?

    /// §7.2.1.
    init(configuration: SCTPConfiguration) {
        // PMDCS: the user data that a packet has room for.
        packet =
            configuration.maximumPacketSize - SCTPCommonHeader.size - SCTPDataHeader.size(isInterleaved: false)
        window = packet * configuration.initialWindowPackets
    }

    var isRecovering: Bool { recoveryEnd != nil }

    /// How much more than was just acknowledged may leave at once (§6.1 D, Max.Burst of 4 packets).
    var burst: Int { 4 * packet }

    /// `bytes` were acknowledged for the first time, when `inFlight` were on their way.
    mutating func acknowledged(_ bytes: Int, inFlight: Int, cumulative: UInt32, hasAdvanced: Bool) {
        if let end = recoveryEnd, !SerialNumber.isNewer(end, than: cumulative) { recoveryEnd = nil }
        // §7.2.1, §7.2.2: a window that is not used up does not grow, nor one in fast recovery.
        let isUsed = inFlight + packet > window
        if window <= threshold {
            guard hasAdvanced, isUsed, !isRecovering else { return }
            // §7.2.1: L is 8. Acknowledgments of a batch of packets come in one; `burst` bounds what follows them.
            window += min(bytes, 8 * packet)
        } else if hasAdvanced {
            partialBytes += bytes
            guard partialBytes >= window else { return }
            if isUsed, !isRecovering {
                partialBytes -= window
                window += packet
            } else {
                partialBytes = window
            }
        }
    }

    /// §7.2.3, §7.2.4: chunks were found lost, of which the last that was sent is `highest`.
    mutating func lost(highest: UInt32) {
        guard !isRecovering else { return }
        threshold = max(window / 2, 4 * packet)
        window = threshold
        partialBytes = 0
        recoveryEnd = highest
    }

    /// §7.2.3: the retransmission timer expired.
    mutating func timedOut() {
        threshold = max(window / 2, 4 * packet)
        window = packet
        partialBytes = 0
        recoveryEnd = nil
    }

    /// §7.2.2: everything sent is acknowledged.
    mutating func ranDry() { partialBytes = 0 }

    /// DATA has been written.
    mutating func sent(at now: Instant) { lastSentAt = now }

    /// §7.2.1: a window that was not used for a time-out says less and less about the path. Before DATA is written
    /// while none is on its way.
    mutating func willBegin(at now: Instant, timeout: Interval) {
        guard let last = lastSentAt, timeout > .zero else { return }
        let idle = (now - last).nanoseconds / timeout.nanoseconds
        guard idle > 0, window > 4 * packet else { return }
        window = max(window >> Int(min(idle, 32)), 4 * packet)
    }
}
