/// The packets that a receiver misses and asks for (RFC 4585 §6.2.1): when to ask, how often, when to give up.
struct NACKList: Sendable {
    private struct Entry: Sendable {
        var sequence: Int64
        var askAt: Instant
        var tries: Int
    }

    /// Ascending by sequence number.
    private var entries: [Entry] = []
    /// How many packets may be asked for. Each one that comes allows one more: who asks for everything again and again
    /// where most is lost, because too much is sent or because this side cannot keep up, makes that worse without end.
    /// Up to a loss of two in five nobody notices.
    private var credit = NACKList.mostCredit
    private let reorderingTolerance: Interval
    private let maximumTries: Int
    private static let maximumEntries = 1_000
    /// What a stream begins with, and what one that loses little has for a burst.
    static let mostCredit = 200
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
        for sequence in range {
            entries.append(Entry(sequence: sequence, askAt: now + reorderingTolerance, tries: 0))
        }
        return true
    }

    /// A packet of the stream came, or a retransmission of one; whichever.
    mutating func packetCame() { if credit < Self.mostCredit { credit += 1 } }

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

    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    /// Collects the numbers to ask for now, and those that have been asked for often enough.
    mutating func collect(due: inout [UInt16], givenUp: inout [Int64], roundTrip: Interval, at now: Instant) {
        // A quarter more than the round trip, or the repetition crosses the packet that it asks for.
        let next = now + max(roundTrip + roundTrip / 4, Self.minimumInterval)
        var hasGivenUp = false
        for index in entries.indices where now >= entries[index].askAt {
            if entries[index].tries >= maximumTries {
                givenUp.append(entries[index].sequence)
                hasGivenUp = true
                continue
            }
            entries[index].askAt = next
            guard credit > 0 else { continue }
            credit -= 1
            due.append(UInt16(truncatingIfNeeded: entries[index].sequence))
            entries[index].tries += 1
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
