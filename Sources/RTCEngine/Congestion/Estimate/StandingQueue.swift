/// A queue that a fall of the path has left behind: until it is empty, less than the path carries is sent.
struct StandingQueue {
    /// Of the rate after the fall, which is 85 % of what arrived: six tenths of what the path carries.
    private static let share = 0.7
    /// Above the shortest round trip: less is not worth it.
    private static let tolerance = Interval.milliseconds(100)
    /// If it takes longer, the queue is not ours.
    private static let patience = Interval.seconds(Int64(5))
    /// Nor is it if it has hardly shrunk by then: somebody else fills it, and giving way would only starve us.
    private static let trial = Interval.seconds(Int64(2))
    private static let shrunk = 0.85
    /// Between one and the next.
    private static let rest = Interval.seconds(Int64(15))

    private var shortest: Interval?
    private var longest = Interval.zero
    private var since: Instant?
    /// How much may be sent while it drains; nil while there is none.
    private(set) var limit: Bitrate?

    /// The path has fallen, and this rate is what is left.
    mutating func left(by rate: Bitrate, at now: Instant) {
        if let since, now - since < Self.rest {
            // It goes on falling: what is left is less.
            if limit != nil, now - since < Self.trial { limit = rate * Self.share }
            return
        }
        since = now
        longest = .zero
        limit = rate * Self.share
    }

    mutating func measured(_ roundTrip: Interval, at now: Instant) {
        // The path may grow longer: what was shortest grows by about a hundredth in a second.
        let known = shortest.map { Interval(nanoseconds: $0.nanoseconds + $0.nanoseconds / 1_500) } ?? roundTrip
        shortest = min(known, roundTrip)
        guard let since, limit != nil else { return }
        longest = max(longest, roundTrip)
        let elapsed = now - since
        // A round trip tells how the queue was a round trip ago.
        let isOthers = elapsed > Self.trial + longest && roundTrip.seconds > longest.seconds * Self.shrunk
        if roundTrip < known + Self.tolerance || elapsed > Self.patience + longest || isOthers { limit = nil }
    }
}
