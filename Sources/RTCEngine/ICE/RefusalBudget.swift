/// How many requests of strangers are answered. An error is longer than the shortest request, and whoever sends one may
/// have put somebody else's address on it: without a bound an agent could be made to send more than it is sent.
struct RefusalBudget: Sendable {
    /// Enough for every honest mistake: a check that comes before its description, or after a restart.
    static let perSecond = 20

    private var window = Instant.zero
    private var used = 0

    /// Whether one more may go out.
    mutating func take(at now: Instant) -> Bool {
        if now - window >= .seconds(Int64(1)) {
            window = now
            used = 0
        }
        guard used < Self.perSecond else { return false }
        used += 1
        return true
    }
}
