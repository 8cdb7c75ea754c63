internal import ChatCore
internal import ChatModel

/// Pushes that wait to be sent. Calls go first, then what came first.
struct PushQueue {
    struct Item: Sendable {
        var push: Push
        /// How often it was tried.
        var attempts = 0
    }

    private struct Waiting {
        let item: Item
        let at: Timestamp
    }

    private var calls: [Item] = []
    private var others: [Item] = []
    /// How many of `others` are gone; they are taken out of it now and then.
    private var taken = 0
    /// To be tried again; in the order of their times.
    private var later: [Waiting] = []
    let limit: Int

    init(limit: Int = 10_000) { self.limit = limit }

    var count: Int { calls.count + others.count - taken + later.count }
    /// Whether nothing is left but what waits for its time.
    var isIdle: Bool { calls.isEmpty && others.count == taken }

    /// - Returns: false when it is full.
    mutating func add(_ push: Push) -> Bool {
        guard count < limit else { return false }
        add(Item(push: push))
        return true
    }

    private mutating func add(_ item: Item) {
        if item.push.call != nil { calls.append(item) } else { others.append(item) }
    }

    /// One that was in it before, and has a place whatever there is.
    mutating func putBack(_ item: Item, until time: Timestamp) {
        let place = later.firstIndex { $0.at > time } ?? later.count
        later.insert(Waiting(item: item, at: time), at: place)
    }

    mutating func next(at now: Timestamp) -> Item? {
        let due = later.prefix { $0.at <= now }
        if !due.isEmpty {
            for waiting in due { add(waiting.item) }
            later.removeFirst(due.count)
        }
        if !calls.isEmpty { return calls.removeFirst() }
        guard taken < others.count else { return nil }
        defer {
            taken += 1
            if taken > 1_000 || taken == others.count {
                others.removeFirst(taken)
                taken = 0
            }
        }
        return others[taken]
    }

    /// Takes out what is owed by the log, which somebody else reads now.
    mutating func removeOwed() {
        let isOwed = { (item: Item) in item.push.origin != nil }
        others.removeFirst(taken)
        taken = 0
        others.removeAll(where: isOwed)
        later.removeAll { isOwed($0.item) }
    }

    /// Takes out what was to take the place of a call's alert with these people, for it rings anew.
    mutating func removeEnds(of call: String, to users: Set<UserID>) {
        let isEnd = { (item: Item) in
            item.push.call == nil && item.push.collapseID == call && users.contains(item.push.address.user)
        }
        others.removeFirst(taken)
        taken = 0
        others.removeAll(where: isEnd)
        later.removeAll { isEnd($0.item) }
    }

    /// Takes out what a call still has to say to these people.
    ///
    /// - Returns: how many pushes that were.
    mutating func remove(call: String, of users: Set<UserID>) -> Int {
        let before = count
        let isOver = { (item: Item) in item.push.call == call && users.contains(item.push.address.user) }
        calls.removeAll(where: isOver)
        later.removeAll { isOver($0.item) }
        return before - count
    }
}
