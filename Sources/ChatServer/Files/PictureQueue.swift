internal import ChatModel

/// Pictures that wait to be looked into: so many at a time, and the next of each person in turn, so that nobody's
/// holiday holds up the others.
struct PictureQueue {
    struct Picture: Sendable, Equatable {
        let id: FileID
        let owner: UserID
        /// In bytes.
        let size: Int64
    }

    /// As many at a time: a flood of pictures is not to take all of the machine.
    static let mostRunning = 2
    /// More than that have no thumbnail: of one person, and of all.
    static let mostOfOne = 20
    static let most = 200

    private var waiting: [UserID: [Picture]] = [:]
    /// Whose turn it is, for each who has a picture that waits.
    private var turns: [UserID] = []
    private var running: Set<FileID> = []

    var count: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// - Returns: false where there is no room for it.
    mutating func add(_ picture: Picture) -> Bool {
        let own = waiting[picture.owner]?.count ?? 0
        guard own < Self.mostOfOne, count < Self.most else { return false }
        waiting[picture.owner, default: []].append(picture)
        if own == 0 { turns.append(picture.owner) }
        return true
    }

    /// The next one, if it may begin; `end` is to be told of it.
    mutating func begin() -> Picture? {
        guard running.count < Self.mostRunning, !turns.isEmpty else { return nil }
        let owner = turns.removeFirst()
        guard var own = waiting.removeValue(forKey: owner), !own.isEmpty else { return nil }
        let picture = own.removeFirst()
        if !own.isEmpty {
            waiting[owner] = own
            turns.append(owner)
        }
        running.insert(picture.id)
        return picture
    }

    mutating func end(_ id: FileID) { running.remove(id) }
}
