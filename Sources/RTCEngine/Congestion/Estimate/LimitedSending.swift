/// Whether the application sends clearly less than it might (libwebrtc: application-limited region). Then the path is
/// not full because of us, and what arrives says little about it.
struct LimitedSending {
    /// Of the target: who sends less than this is saving up.
    private static let share = 0.65
    private static let span = Interval.milliseconds(500)
    /// Parts of what can be saved at most: above the first it begins, below the second it ends.
    private static let begin = 0.8
    private static let end = 0.5

    private var saved = 0.0
    private var last: Instant?
    private(set) var since: Instant?
    private(set) var endedAt: Instant?

    var isLimited: Bool { since != nil }

    /// Bytes were sent while the target was this.
    ///
    /// - Returns: whether it ended now.
    @discardableResult
    mutating func sent(_ bytes: Int, target: Bitrate, at now: Instant) -> Bool {
        let most = (target * Self.share).bytes(in: Self.span)
        guard most > 0 else { return false }
        let elapsed = min(max(now - (last ?? now), .zero), Self.span)
        last = now
        saved += (target * Self.share).bytes(in: elapsed) - Double(bytes)
        saved = min(max(saved, -most), most)
        if since == nil, saved > most * Self.begin {
            since = now
            endedAt = nil
        } else if since != nil, saved < most * Self.end {
            since = nil
            endedAt = now
            return true
        }
        return false
    }
}
