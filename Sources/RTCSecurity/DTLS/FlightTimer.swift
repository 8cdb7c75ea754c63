import COpenSSL
import RTCEngine

/// How long a flight of the handshake is waited for before ours is sent again.
///
/// RFC 6347 §4.2.4.1 suggests to begin with a second, for the open Internet. Here ICE has just shown that the path
/// works, so 50 ms are enough for the first time, and four times as long for each one after it, up to five seconds.
/// Twelve retransmissions of one flight, OpenSSL's limit, then reach past the 30 seconds after which `DTLSAssociation`
/// gives up.
///
/// A path can take longer than that. A client knows from its first flight how long an answer takes, and waits twice as
/// long for the next one; a server has no such measure. What is sent again too early or too often is not only
/// superfluous: Pion's server stops reading for a second at each datagram of a flight that comes again.
final class FlightTimer {
    static let shortest = Interval.milliseconds(50)
    static let longest = Interval.milliseconds(5_000)
    /// What the first wait for a flight is stretched to at most.
    static let longestFirst = Interval.milliseconds(1_000)

    private var askedAt: Instant?
    private(set) var first = FlightTimer.shortest

    /// The client's first flight leaves.
    func asked(at now: Instant) { askedAt = now }

    /// Something has come in answer. Repetitions of what was asked count from the first time, for it is not known which
    /// of them was answered.
    func answered(at now: Instant) {
        guard let asked = askedAt else { return }
        askedAt = nil
        first = min(max((now - asked) * 2, Self.shortest), Self.longestFirst)
    }

    /// Ties this timer to an association; it must outlive it.
    func attach(to ssl: OpaquePointer) -> Bool {
        guard Self.dataIndex > 0,
            SSL_set_ex_data(ssl, Self.dataIndex, Unmanaged.passUnretained(self).toOpaque()) == 1
        else { return false }
        DTLS_set_timer_cb(ssl, Self.callback)
        return true
    }

    /// One for the process.
    private static let dataIndex = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)

    /// In microseconds: `previous` is 0 for a new flight, else the wait that has run out.
    private static let callback: @convention(c) (OpaquePointer?, UInt32) -> UInt32 = { ssl, previous in
        guard previous == 0 else {
            let longest = microseconds(FlightTimer.longest)
            return previous > longest / growth ? longest : previous * growth
        }
        guard let ssl, let data = SSL_get_ex_data(ssl, FlightTimer.dataIndex) else {
            return microseconds(FlightTimer.shortest)
        }
        return microseconds(Unmanaged<FlightTimer>.fromOpaque(data).takeUnretainedValue().first)
    }

    private static let growth: UInt32 = 4

    private static func microseconds(_ interval: Interval) -> UInt32 { UInt32(clamping: interval.nanoseconds / 1_000) }
}
