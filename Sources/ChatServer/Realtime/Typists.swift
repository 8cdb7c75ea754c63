internal import ChatModel

/// Who is writing where.
struct Typists {
    struct Typist: Hashable, Sendable, Codable {
        let workspace: WorkspaceID
        let channel: ChannelID
        let user: UserID
    }

    private struct Entry {
        var thread: MessageID?
        var toldAt: Timestamp
        var expires: Timestamp
    }

    /// Without another word of it for so long, somebody has stopped.
    static let lifetime = Duration.seconds(6)
    /// Others are told again at most so often.
    static let interval = Duration.seconds(3)

    private var entries: [Typist: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// - Returns: whether others are to be told.
    mutating func begin(_ typist: Typist, thread: MessageID?, at now: Timestamp) -> Bool {
        let expires = now.advanced(by: Self.lifetime)
        if let entry = entries[typist], entry.thread == thread, now - entry.toldAt < Self.interval {
            entries[typist]?.expires = expires
            return false
        }
        entries[typist] = Entry(thread: thread, toldAt: now, expires: expires)
        return true
    }

    /// - Returns: the thread that they typed in, if others were told that they do.
    mutating func end(_ typist: Typist) -> MessageID?? {
        entries.removeValue(forKey: typist).map(\.thread)
    }

    mutating func expire(at now: Timestamp) -> [(Typist, MessageID?)] {
        let over = entries.filter { $0.value.expires <= now }
        for typist in over.keys { entries[typist] = nil }
        return over.map { ($0.key, $0.value.thread) }
    }
}
