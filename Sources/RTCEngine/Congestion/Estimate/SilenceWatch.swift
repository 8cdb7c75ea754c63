/// Notices that packets are sent and the peer no longer says what became of them.
struct SilenceWatch {
    /// Beyond the round trip: feedback comes at least every 250 ms.
    private static let patience = Interval.milliseconds(750)
    /// A path that carries nothing is not narrow, it is cut: it is not lowered for ever.
    private static let mostRounds = 3
    /// After so many the path that comes back is taken for another one.
    private static let cut = 2
    /// So long packets are sent without an answer: the last ones before a pause may just be lost, and of what did not
    /// come a peer has nothing to tell.
    private static let evidence = Interval.milliseconds(250)

    private(set) var hasHeard = false
    /// Since when an answer is missing; nil while nothing is.
    private var since: Instant?
    private var lastSent = Instant.zero
    private var rounds = 0

    /// - Returns: whether it is the first that an answer is missing to.
    mutating func sent(at now: Instant) -> Bool {
        lastSent = now
        guard since == nil else { return false }
        since = now
        return true
    }

    /// - Returns: whether the path was cut before.
    mutating func heard() -> Bool {
        defer { rounds = 0 }
        hasHeard = true
        since = nil
        return rounds >= Self.cut
    }

    /// A peer that never sends feedback is not silent: it does not know how.
    func deadline(roundTrip: Interval) -> Instant? {
        hasHeard && rounds < Self.mostRounds ? since.map { $0 + Self.patience + roundTrip } : nil
    }

    mutating func isDue(roundTrip: Interval, at now: Instant) -> Bool {
        guard let since, let deadline = deadline(roundTrip: roundTrip), now >= deadline else { return false }
        // The next packet is what an answer is missing to from then on: a sender that pauses asks nothing of the path.
        self.since = nil
        guard lastSent - since >= Self.evidence else { return false }
        rounds += 1
        return true
    }
}
