import RTCEngine

/// A TCP sender with CUBIC (RFC 9438) that always has something to send: window, growth and loss, no bytes.
struct Download {
    static let segment = 1_500
    /// RFC 9438 §4.5 and §4.1.
    private static let decrease = 0.7
    private static let scale = 0.4
    private static let reordering = 3

    private var window = 10.0
    private var threshold = Double.infinity
    private var plateau = 0.0
    private var epoch: Instant?
    private var nextNumber = 0
    /// Sent and not told of, oldest first.
    private var inFlight: [(number: Int, at: Instant)] = []
    /// Losses of packets before this one have been answered.
    private var recoveryPoint = 0
    private var lastNews = Instant.zero
    private(set) var acknowledged = 0

    /// Numbers of the segments that may be sent now.
    mutating func send(at now: Instant) -> Range<Int> {
        let first = nextNumber
        while Double(inFlight.count) < window {
            inFlight.append((nextNumber, now))
            nextNumber += 1
        }
        return first..<nextNumber
    }

    mutating func acknowledge(_ number: Int, at now: Instant) {
        lastNews = now
        guard let index = inFlight.firstIndex(where: { $0.number == number }) else { return }
        let sentAt = inFlight[index].at
        acknowledged += Self.segment
        inFlight.remove(at: index)
        // RFC 5681 §3.2: three later ones have come: it is lost.
        let lost = inFlight.prefix { $0.number + Self.reordering < number }
        if let last = lost.last {
            inFlight.removeFirst(lost.count)
            if last.number >= recoveryPoint { reduce(at: now) }
            return
        }
        grow(roundTrip: now - sentAt, at: now)
    }

    /// Nothing has come back for a second.
    mutating func tick(at now: Instant) {
        guard !inFlight.isEmpty, now - lastNews > .seconds(Int64(1)) else { return }
        inFlight.removeAll()
        threshold = max(window / 2, 2)
        window = 2
        epoch = nil
        lastNews = now
    }

    private mutating func reduce(at now: Instant) {
        recoveryPoint = nextNumber
        // RFC 9438 §4.7: fast convergence.
        plateau = window < plateau ? window * (1 + Self.decrease) / 2 : window
        window = max(window * Self.decrease, 2)
        threshold = window
        epoch = nil
    }

    private mutating func grow(roundTrip: Interval, at now: Instant) {
        guard window >= threshold else {
            window += 1
            return
        }
        let start = epoch ?? now
        epoch = start
        let time = (now - start).seconds + roundTrip.seconds
        // The time at which the plateau is reached again: its cube, so no root is needed.
        let cube = plateau * (1 - Self.decrease) / Self.scale
        var root = max(cube, 0.001)
        for _ in 0..<30 { root -= (root * root * root - cube) / (3 * root * root) }
        let aim = Self.scale * (time - root) * (time - root) * (time - root) + plateau
        window += max(min((aim - window) / window, 0.5), 0.01 / window)
    }
}
