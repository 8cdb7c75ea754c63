internal import RTCEngine

/// Keeps a burst of datagrams from waking the loop's thread for each of them, as network cards do with their
/// interrupts: a picture's packets come microseconds apart, and being woken costs more than receiving one. When several
/// reads in a row have come so fast, the sockets are left alone for a moment before the next one. Where that has
/// gathered some, the next picture's first packet is enough, and its last one ends it.
///
/// Only reads that nothing was sent in answer to count, so that request and response are never slowed down; and a pause
/// that gathers less than a few datagrams is not followed by another.
struct WakeCoalescing {
    /// How long datagrams may wait: far less than a jitter buffer's step, and than a player can tell.
    static let pause = Interval.microseconds(250)
    /// Reads that follow each other faster than this are a burst.
    private static let gap = Interval.microseconds(100)
    /// A burst is this many such reads after the first.
    private static let threshold = 2
    /// A pause that gathered at least this many datagrams is followed by another.
    private static let worthwhile = 4

    private var wantsPause = false
    /// What the last pause gathered was worth it.
    private var gathers = false
    private var hasPaused = false
    private var streak = 0
    private var lastRead = Instant.zero

    /// Of the turn that is going on.
    private var unansweredReads = 0
    private var datagrams = 0
    private var mayBeMore = false
    private var isAmidPicture: Bool?

    /// A reader has taken datagrams and has nothing to send.
    ///
    /// - Parameter isAmidPicture: the last one of pictures was not the last of its picture; nil for other datagrams.
    mutating func noteUnanswered(_ datagrams: Int, mayBeMore: Bool, isAmidPicture: Bool?) {
        unansweredReads += 1
        if let isAmidPicture { self.isAmidPicture = self.isAmidPicture == true || isAmidPicture }
        self.datagrams += datagrams
        self.mayBeMore = self.mayBeMore || mayBeMore
    }

    /// All that could be read in this turn has been.
    mutating func turnEnded(reads: Int, at now: Instant) {
        defer {
            unansweredReads = 0
            datagrams = 0
            mayBeMore = false
            isAmidPicture = nil
            lastRead = now
        }
        // What waits already need not gather.
        guard unansweredReads == reads, !mayBeMore else {
            if unansweredReads < reads { streak = 0 }
            wantsPause = false
            return
        }
        streak = now - lastRead < Self.gap ? streak + 1 : 0
        if hasPaused { gathers = datagrams >= Self.worthwhile }
        let mayFollow =
            switch isAmidPicture {
            case true: true
            // Of other sockets.
            case false: hasPaused && reads > 1
            case nil: hasPaused
            }
        wantsPause = gathers && mayFollow || streak >= Self.threshold
        hasPaused = false
    }

    /// Whether to leave the sockets alone for a moment now.
    mutating func takePause() -> Bool {
        guard wantsPause else { return false }
        wantsPause = false
        hasPaused = true
        streak = 0
        return true
    }
}
