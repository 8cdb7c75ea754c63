internal import ChatModel

/// Searches that wait for the database: so many at a time, and the next of each person in turn. One looks at as many
/// messages as there are, and SQLite has eight readers, for which every other request waits as well.
struct SearchQueue {
    /// Names one that waits.
    typealias Ticket = UInt64

    enum Admission: Sendable, Equatable {
        /// `end` is to be told of it.
        case begins
        case waits
        case refused(Refusal)
    }

    enum Refusal: Sendable, Equatable {
        /// So many of one's own wait.
        case tooManyOfOne
        /// So many wait.
        case tooMany
    }

    /// As many at a time.
    static let mostRunning = 3
    /// More than that are refused: of one person, and of all. Who has to wait longer than some seconds is better off
    /// trying again.
    static let mostOfOne = 4
    static let most = 64

    private var waiting: [UserID: [Ticket]] = [:]
    /// Whose turn it is, for each who has one that waits.
    private var turns: [UserID] = []
    private var running = 0
    private var count = 0

    mutating func add(_ ticket: Ticket, of user: UserID) -> Admission {
        guard running >= Self.mostRunning else {
            running += 1
            return .begins
        }
        let own = waiting[user]?.count ?? 0
        guard own < Self.mostOfOne else { return .refused(.tooManyOfOne) }
        guard count < Self.most else { return .refused(.tooMany) }
        waiting[user, default: []].append(ticket)
        count += 1
        if own == 0 { turns.append(user) }
        return .waits
    }

    /// One is over.
    ///
    /// - Returns: the one that begins in its place; nil where none waits.
    mutating func end() -> Ticket? {
        guard !turns.isEmpty else {
            running -= 1
            return nil
        }
        let user = turns.removeFirst()
        var own = waiting.removeValue(forKey: user) ?? []
        let ticket = own.removeFirst()
        count -= 1
        if !own.isEmpty {
            waiting[user] = own
            turns.append(user)
        }
        return ticket
    }
}
