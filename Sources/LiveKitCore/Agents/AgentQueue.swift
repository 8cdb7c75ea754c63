/// Jobs of one kind that wait, in the order in which they began to.
///
/// Each has a ticket, and later ones have larger tickets: a worker that has been past a job remembers its ticket, and
/// need not look there again.
struct AgentQueue {
    private struct Entry {
        let ticket: UInt64
        /// Nil once the job waits no more.
        var id: String?
    }

    private var entries: [Entry] = []
    /// Those before it wait no more.
    private var start = 0
    private var tickets: [String: UInt64] = [:]

    var count: Int { tickets.count }
    var isEmpty: Bool { tickets.isEmpty }
    var ids: [String] { entries[start...].compactMap(\.id) }

    /// - Parameter ticket: larger than any before.
    mutating func append(_ id: String, ticket: UInt64) {
        entries.append(Entry(ticket: ticket, id: id))
        tickets[id] = ticket
    }

    mutating func remove(_ id: String) {
        guard let ticket = tickets.removeValue(forKey: id) else { return }
        entries[place(after: ticket - 1)].id = nil
        while start < entries.count, entries[start].id == nil { start += 1 }
        // Moved seldom: half of them are gone then.
        guard entries.count > 2 * count + 16 else { return }
        entries.removeAll { $0.id == nil }
        start = 0
    }

    /// Nil for one that does not wait.
    func ticket(of id: String) -> UInt64? { tickets[id] }

    /// The oldest of those with larger tickets.
    func first(after ticket: UInt64) -> (id: String, ticket: UInt64)? {
        for entry in entries[place(after: ticket)...] {
            if let id = entry.id { return (id, entry.ticket) }
        }
        return nil
    }

    /// Of the first entry with a larger ticket, of those that may wait; the end where there is none.
    private func place(after ticket: UInt64) -> Int {
        var (low, high) = (start, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].ticket > ticket { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
