/// What waits for one URL, and what is under way to it: rooms go side by side, the events of each room in the order in
/// which they came.
struct WebhookQueue<Notice: Sendable>: Sendable {
    /// What becomes of one that is added.
    enum Admission: Equatable {
        /// None of its room was there: somebody is to deliver those of the room until none is left.
        case begins
        /// For those of its room that came before.
        case waits
        /// There is no place. Who is here stays: of what a receiver has not heard the end is missing, not the middle.
        case refused
    }

    private struct Room {
        /// Those that have left are nil until there are so many that the others are moved.
        private var notices: [Notice?] = []
        private var start = 0

        var count: Int { notices.count - start }
        var first: Notice? { notices.indices.contains(start) ? notices[start] : nil }

        mutating func append(_ notice: Notice) { notices.append(notice) }

        mutating func removeFirst() {
            guard notices.indices.contains(start) else { return }
            notices[start] = nil
            start += 1
            // Half of it at once, so that none is moved often.
            guard start * 2 >= notices.count else { return }
            notices.removeFirst(start)
            start = 0
        }
    }

    private let limit: Int
    private var rooms: [String: Room] = [:]
    private(set) var count = 0

    /// - Parameter limit: of all rooms together: some thousand people come and go while a receiver is down for a
    ///   minute.
    init(limit: Int = 10_000) { self.limit = limit }

    /// A receiver that takes none of one room, in which much happens, leaves the others the other half; of two it
    /// leaves them nothing.
    private var limitOfRoom: Int { max(limit / 2, 1) }

    mutating func add(_ notice: Notice, ofRoom name: String) -> Admission {
        let others = rooms[name]?.count ?? 0
        guard count < limit, others < limitOfRoom else { return .refused }
        rooms[name, default: Room()].append(notice)
        count += 1
        return others == 0 ? .begins : .waits
    }

    /// The oldest of a room.
    func first(ofRoom name: String) -> Notice? { rooms[name]?.first }

    /// The oldest of a room has been delivered, or given up.
    ///
    /// - Returns: the next one. After nil the room begins anew with the next that is added.
    mutating func removeFirst(ofRoom name: String) -> Notice? {
        guard rooms[name] != nil else { return nil }
        rooms[name]?.removeFirst()
        count -= 1
        let next = first(ofRoom: name)
        if next == nil { rooms[name] = nil }
        return next
    }
}
