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
        /// So whoever comes next, however small, has no place either before there is one for this one.
        case refused
    }

    private struct Entry {
        let notice: Notice
        let size: Int
    }

    private struct Room {
        /// Those that have left are nil until there are so many that the others are moved.
        private var entries: [Entry?] = []
        private var start = 0
        /// Of those that are here.
        private(set) var bytes = 0
        /// The largest that was refused since the last one came in, for want of room in this one.
        var refusedSize = 0

        var count: Int { entries.count - start }
        var first: Notice? { entries.indices.contains(start) ? entries[start]?.notice : nil }

        mutating func append(_ entry: Entry) {
            entries.append(entry)
            bytes += entry.size
            refusedSize = 0
        }

        /// - Returns: how many bytes it has.
        mutating func removeFirst() -> Int {
            guard entries.indices.contains(start), let size = entries[start]?.size else { return 0 }
            entries[start] = nil
            bytes -= size
            start += 1
            // Half of it at once, so that none is moved often.
            if start * 2 >= entries.count {
                entries.removeFirst(start)
                start = 0
            }
            return size
        }
    }

    private let limit: Int
    private let byteLimit: Int
    private var rooms: [String: Room] = [:]
    private(set) var count = 0
    private(set) var bytes = 0
    /// The largest that was refused since the last one came in, because all rooms together have too much.
    private var refusedSize = 0

    /// - Parameters:
    ///   - limit: of all rooms together: some thousand people come and go while a receiver is down for a minute.
    ///   - byteLimit: of all rooms together: an event has the metadata of its room and its participant, which may be as
    ///     large as the server allows.
    init(limit: Int = 10_000, byteLimit: Int = 64 << 20) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// A receiver that takes none of one room, in which much happens, leaves the others the other half; of two it
    /// leaves them nothing.
    private var limitOfRoom: Int { max(limit / 2, 1) }
    private var byteLimitOfRoom: Int { max(byteLimit / 2, 1) }

    /// - Parameter size: in bytes.
    mutating func add(_ notice: Notice, size: Int, ofRoom name: String) -> Admission {
        // One that there is never a place for holds up nobody.
        guard size <= byteLimitOfRoom else { return .refused }
        let others = rooms[name]?.count ?? 0
        // What its own room has no place for is of no concern to others.
        if let room = rooms[name] {
            let needed = max(size, room.refusedSize)
            guard others < limitOfRoom, room.bytes + needed <= byteLimitOfRoom else {
                rooms[name]?.refusedSize = needed
                return .refused
            }
        }
        guard count < limit, bytes + max(size, refusedSize) <= byteLimit else {
            refusedSize = max(size, refusedSize)
            return .refused
        }
        refusedSize = 0
        rooms[name, default: Room()].append(Entry(notice: notice, size: size))
        count += 1
        bytes += size
        return others == 0 ? .begins : .waits
    }

    /// The oldest of a room.
    func first(ofRoom name: String) -> Notice? { rooms[name]?.first }

    /// The oldest of a room has been delivered, or given up.
    ///
    /// - Returns: the next one. After nil the room begins anew with the next that is added.
    mutating func removeFirst(ofRoom name: String) -> Notice? {
        guard let size = rooms[name]?.removeFirst() else { return nil }
        count -= 1
        bytes -= size
        let next = first(ofRoom: name)
        if next == nil { rooms[name] = nil }
        return next
    }
}
