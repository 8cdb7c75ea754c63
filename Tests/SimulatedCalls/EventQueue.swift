import RTCEngine

/// Things that happen at a time, taken out in order of time and, at one instant, in order of being put in: the
/// heart of a simulation that repeats.
struct EventQueue<Event> {
    private struct Entry {
        let at: Instant
        let sequence: Int
        let event: Event

        func precedes(_ other: Entry) -> Bool { (at, sequence) < (other.at, other.sequence) }
    }

    /// A binary heap.
    private var entries: [Entry] = []
    private var nextSequence = 0

    var nextAt: Instant? { entries.first?.at }
    var isEmpty: Bool { entries.isEmpty }

    mutating func schedule(_ event: Event, at instant: Instant) {
        entries.append(Entry(at: instant, sequence: nextSequence, event: event))
        nextSequence += 1
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].precedes(entries[parent]) else { break }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// The earliest event that is due, with the time it was due at.
    mutating func pop(dueAt now: Instant) -> (at: Instant, event: Event)? {
        guard let first = entries.first, first.at <= now else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink()
        }
        return (first.at, first.event)
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].precedes(entries[least]) {
                least = child
            }
            guard least != parent else { return }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
