/// The packets that a receiver misses and asks for (RFC 4585 §6.2.1): when to ask, how often, when to give up.
struct NACKList: Sendable {
    private struct Entry: Sendable {
        var sequence: Int64
        var askAt: Instant
        var tries: Int
    }

    /// Ascending by sequence number.
    private var entries: [Entry] = []
    private let reorderingTolerance: Interval
    private let maximumTries: Int
    private static let maximumEntries = 1_000
    /// A repetition is never asked for sooner than this.
    private static let minimumInterval = Interval.milliseconds(20)

    init(reorderingTolerance: Interval, maximumTries: Int) {
        self.reorderingTolerance = reorderingTolerance
        self.maximumTries = maximumTries
    }

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    /// Packets were passed over. Returns false when there are too many to ask for: nothing is then noted.
    mutating func missing(_ range: Range<Int64>, at now: Instant) -> Bool {
        guard entries.count + range.count <= Self.maximumEntries else { return false }
        let askAt = now + reorderingTolerance
        entries.insert(
            contentsOf: range.lazy.map { Entry(sequence: $0, askAt: askAt, tries: 0) }, at: lowerBound(range.lowerBound)
        )
        return true
    }

    /// A packet came. True when it had been asked for.
    mutating func received(_ sequence: Int64) -> Bool {
        guard let index = index(of: sequence) else { return false }
        let wasAsked = entries[index].tries > 0
        entries.remove(at: index)
        return wasAsked
    }

    /// Nobody waits for packets before `sequence` any more.
    mutating func remove(before sequence: Int64) {
        guard let first = entries.first, first.sequence < sequence else { return }
        entries.removeSubrange(0..<lowerBound(sequence))
    }

    /// Nothing is asked for any more. Appends the numbers that were.
    mutating func giveUpAll(into givenUp: inout [Int64]) {
        for entry in entries { givenUp.append(entry.sequence) }
        removeAll()
    }

    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    /// Collects the numbers to ask for now, and those that have been asked for often enough.
    ///
    /// - Parameter once: none is asked for a second time.
    mutating func collect(
        due: inout [UInt16], givenUp: inout [Int64], roundTrip: Interval, once: Bool = false, at now: Instant
    ) {
        let maximumTries = once ? min(1, maximumTries) : maximumTries
        var hasGivenUp = false
        for index in entries.indices where now >= entries[index].askAt {
            if entries[index].tries >= maximumTries {
                givenUp.append(entries[index].sequence)
                hasGivenUp = true
                continue
            }
            due.append(UInt16(truncatingIfNeeded: entries[index].sequence))
            entries[index].tries += 1
            // A quarter more than the round trip, or the repetition crosses the packet that it asks for.
            entries[index].askAt = now + max(roundTrip + roundTrip / 4, Self.minimumInterval)
        }
        guard hasGivenUp else { return }
        entries.removeAll { $0.tries >= maximumTries && now >= $0.askAt }
    }

    /// When `collect` is next wanted.
    var nextWake: Instant? { entries.lazy.map(\.askAt).min() }

    private func lowerBound(_ sequence: Int64) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].sequence < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func index(of sequence: Int64) -> Int? {
        let index = lowerBound(sequence)
        return index < entries.count && entries[index].sequence == sequence ? index : nil
    }
}
