package import ChatModel

/// Threads that people follow: those that they have begun or written in, those in which an answer has named them, those
/// of direct and group messages, and those that they have asked for, but for those that they have turned away from.
extension ChatTransaction {
    /// In SQL, whether there are answers of others in a thread behind its follower's mark. An index has the first
    /// condition. One's own are not unread, though one may go back behind them.
    private static let isUnread = """
        f.last_reply > f.last_read AND (SELECT 1 FROM messages r
            WHERE r.thread_id = f.thread_id AND r.sequence > f.last_read AND r.user_id <> f.user_id
                AND r.deleted_at IS NULL
            LIMIT 1) = 1
        """

    /// In SQL, of a member `m` of a workspace `w`.
    static let unreadThreadsOfWorkspace = """
        (SELECT COUNT(*) FROM (SELECT 1 FROM thread_followers f
            JOIN channel_members fm ON fm.channel_id = f.channel_id AND fm.user_id = f.user_id
            WHERE f.user_id = m.user_id AND f.workspace_id = w.id AND f.is_following = 1
                AND \(isUnread)
            LIMIT \(ChannelMembership.unreadLimit)) unread)
        """

    // MARK: What becomes of an answer

    /// Somebody has answered: they follow the thread from now on and have read it so far, and so does who has begun it.
    ///
    /// - Parameter isRead: by everybody, for what is imported.
    func noteReply(
        to thread: MessageID, by user: UserID, as sequence: Int64, in workspace: WorkspaceID, _ channel: ChannelID,
        isRead: Bool = false
    ) throws {
        try session.run(
            """
            INSERT INTO thread_followers (thread_id, user_id, workspace_id, channel_id, is_following, last_read,
                last_reply)
            SELECT m.id, m.user_id, $2, $3, 1, 0, 0 FROM messages m WHERE m.id = $1
            ON CONFLICT (thread_id, user_id) DO NOTHING
            """, .id(thread), .id(workspace), .id(channel))
        try session.run(
            """
            INSERT INTO thread_followers (thread_id, user_id, workspace_id, channel_id, is_following, last_read,
                last_reply)
            VALUES ($1, $2, $3, $4, 1, $5, $5)
            ON CONFLICT (thread_id, user_id) DO UPDATE SET is_following = 1, last_read = excluded.last_read
            """, .id(thread), .id(user), .id(workspace), .id(channel), .integer(sequence))
        try session.run(
            "UPDATE thread_followers SET last_reply = $2\(isRead ? ", last_read = $2" : "") WHERE thread_id = $1",
            .id(thread), .integer(sequence))
        guard !isRead else { return }
        changes.threadMarks[user] = ThreadMark(
            threadID: thread, channelID: channel, lastRead: sequence, isFollowing: true)
        changes.relieved.insert(user)
    }

    /// Where more people are in a channel, to call everybody makes nobody follow who is not named: each further answer
    /// writes a row of everybody who follows.
    private static let mostCalled: Int64 = 1_000

    /// Whom an answer names or calls follows the thread from now on, and finds it unread from that answer on; in a
    /// direct or group message everybody does. Who has turned away stays away. One statement, however many there are.
    ///
    /// - Parameters:
    ///   - lastReply: the number of the thread's newest answer.
    ///   - isForAll: everybody in the channel, unless there are more than `mostCalled`, and not only who is in
    ///     `mentions`.
    func noteCalled(
        by id: MessageID, as sequence: Int64, to thread: MessageID, lastReply: Int64, in workspace: WorkspaceID,
        _ channel: ChannelID, isForAll: Bool
    ) throws {
        var isForAll = isForAll
        if isForAll {
            var row = try session.row(
                "SELECT COUNT(*) FROM (SELECT 1 FROM channel_members WHERE channel_id = $1 LIMIT $2) AS people",
                .id(channel), .integer(Self.mostCalled + 1))
            isForAll = try row?.integer() ?? 0 <= Self.mostCalled
        }
        let (table, column) = isForAll ? ("channel_members", "channel_id") : ("mentions", "message_id")
        let users = try session.rows(
            """
            INSERT INTO thread_followers (thread_id, user_id, workspace_id, channel_id, is_following, last_read,
                last_reply)
            SELECT $1, p.user_id, $2, $3, 1, $4, $5
            FROM \(table) p JOIN members w ON w.workspace_id = $2 AND w.user_id = p.user_id
            WHERE p.\(column) = $6
            ON CONFLICT (thread_id, user_id) DO NOTHING
            RETURNING user_id
            """, .id(thread), .id(workspace), .id(channel), .integer(sequence - 1), .integer(lastReply),
            isForAll ? .id(channel) : .id(id))
        for var row in users {
            changes.threadMarks[try row.id()] = ThreadMark(
                threadID: thread, channelID: channel, lastRead: sequence - 1, isFollowing: true)
        }
    }

    /// An answer is gone, which may have been the newest.
    func noteReplyIsGone(from thread: MessageID) throws {
        try session.run(
            "UPDATE thread_followers SET last_reply = $2 WHERE thread_id = $1", .id(thread),
            .integer(try lastReply(to: thread)))
    }

    /// The number of the newest answer; 0 without any.
    func lastReply(to thread: MessageID) throws -> Int64 {
        guard
            var row = try session.row(
                """
                SELECT m.sequence FROM messages m WHERE m.thread_id = $1 AND m.deleted_at IS NULL
                ORDER BY m.sequence DESC LIMIT 1
                """, .id(thread))
        else { return 0 }
        return try row.integer()
    }

    /// Who follows a thread (true) or has turned away from it, and how far each has read it.
    func followers(of thread: MessageID) throws -> [UserID: (isFollowing: Bool, lastRead: Int64)] {
        try session.rows(
            "SELECT user_id, is_following, last_read FROM thread_followers WHERE thread_id = $1", .id(thread)
        ).reduce(into: [:]) { followers, row in
            var row = row
            followers[try row.id()] = (try row.flag(), try row.integer())
        }
    }

    // MARK: What people ask for

    /// The threads that somebody follows in channels which they are in, the one with the newest answer first.
    ///
    /// - Parameter isUnread: only those with answers that they have not read.
    package func threads(
        of workspace: WorkspaceID, isUnread: Bool = false, for user: UserID, after cursor: Cursor? = nil,
        limit: Int? = nil
    ) throws -> Page<ThreadListing> {
        try demandToRead(.seeWorkspace, in: workspace, by: user)
        let limit = pageLength(limit)
        // Each answer has a number of its own, and so each thread another newest one.
        let end = try cursor.map { try $0.sequence() } ?? .max
        let rows = try session.rows(
            """
            SELECT f.thread_id, f.last_reply, f.last_read,
                (SELECT COUNT(*) FROM (SELECT 1 FROM messages m WHERE m.thread_id = f.thread_id
                    AND m.sequence > f.last_read AND m.user_id <> $1 AND m.deleted_at IS NULL
                    LIMIT \(ChannelMembership.unreadLimit)) unread)
            FROM thread_followers f
            JOIN channel_members cm ON cm.channel_id = f.channel_id AND cm.user_id = f.user_id
            WHERE f.user_id = $1 AND f.workspace_id = $2 AND f.is_following = 1 AND f.last_reply > 0
                AND f.last_reply < $3 \(isUnread ? "AND \(Self.isUnread)" : "")
            ORDER BY f.last_reply DESC LIMIT $4
            """, .id(user), .id(workspace), .integer(end), .integer(limit + 1))
        let found: [(id: MessageID, lastReply: Int64, lastRead: Int64, unread: Int)] = try rows.prefix(limit).map {
            var row = $0
            return (try row.id(), try row.integer(), try row.integer(), try row.int())
        }
        let messages = Dictionary(uniqueKeysWithValues: try messages(found.map(\.id)).map { ($0.id, $0) })
        let listings = found.compactMap { one in
            messages[one.id].map {
                ThreadListing(message: $0, lastReply: one.lastReply, lastRead: one.lastRead, unread: one.unread)
            }
        }
        return Page(listings, after: rows.count > limit ? found.last.map { Cursor(sequence: $0.lastReply) } : nil)
    }

    /// Follows a thread, or no longer. Answers that were there when somebody begins to are read.
    package func setFollowing(_ isFollowing: Bool, thread id: MessageID, by user: UserID) throws {
        let message = try thread(id, for: user)
        let lastReply = try lastReply(to: id)
        try session.run(
            """
            INSERT INTO thread_followers (thread_id, user_id, workspace_id, channel_id, is_following, last_read,
                last_reply)
            VALUES ($1, $2, $3, $4, $5, $6, $6)
            ON CONFLICT (thread_id, user_id) DO UPDATE SET is_following = excluded.is_following,
                last_read = CASE WHEN thread_followers.is_following < excluded.is_following
                    THEN excluded.last_read ELSE thread_followers.last_read END
            """, .id(id), .id(user), .id(message.workspaceID), .id(message.channelID), .flag(isFollowing),
            .integer(lastReply))
        changes.relieved.insert(user)
        try noteMark(of: id, in: message.channelID, by: user)
    }

    /// Remembers how far somebody has read a thread; also back, to find something unread again.
    package func readThread(_ id: MessageID, upTo sequence: Int64, by user: UserID) throws {
        let message = try thread(id, for: user)
        guard sequence >= 0 else { throw ChatError.invalid("last_read", "A message's number is not negative.") }
        let mark = min(sequence, try lastReply(to: id))
        let changed = try session.run(
            """
            UPDATE thread_followers SET last_read = $3
            WHERE thread_id = $1 AND user_id = $2 AND is_following = 1 AND last_read <> $3
            """, .id(id), .id(user), .integer(mark))
        // Of a thread that they do not follow there is nothing to remember.
        guard changed == 1 else { return }
        changes.relieved.insert(user)
        try noteMark(of: id, in: message.channelID, by: user)
    }

    /// The message that a thread answers, for who is in its channel. Nobody else writes in the thread meanwhile.
    private func thread(_ id: MessageID, for user: UserID) throws -> Message {
        let message = try message(id, for: user)
        try lock(message.workspaceID)
        try Self.requireMembership(try place(in: message.channelID, of: user))
        guard message.threadID == nil else {
            throw ChatError.invalid("thread_id", "A thread is that of a message outside threads.")
        }
        guard message.deletedAt == nil || message.replyCount > 0 else { throw ChatError.notFound("thread") }
        return message
    }

    private func noteMark(of thread: MessageID, in channel: ChannelID, by user: UserID) throws {
        guard
            var row = try session.row(
                "SELECT last_read, is_following FROM thread_followers WHERE thread_id = $1 AND user_id = $2",
                .id(thread), .id(user))
        else { return }
        changes.threadMarks[user] = ThreadMark(
            threadID: thread, channelID: channel, lastRead: try row.integer(), isFollowing: try row.flag())
    }
}
