package import ChatModel

/// What people see of channels: lists, who is in them, what is unread.
extension ChatTransaction {
    /// Of messages by others that are newer than the reader's mark, at most so many as are ever told. The index of
    /// those that call everybody has those with `@here`, too: whom these called is in `mentions`.
    private static let listingColumns = """
        \(channelColumns), c.last_message,
        (SELECT COUNT(*) FROM channel_members x WHERE x.channel_id = c.id),
        cm.joined_at, cm.last_read, cm.notifications,
        (SELECT COUNT(*) FROM (SELECT 1 FROM messages m WHERE m.channel_id = c.id AND m.thread_id IS NULL
            AND m.sequence > cm.last_read AND m.user_id <> $1 AND m.deleted_at IS NULL
            LIMIT \(ChannelMembership.unreadLimit)) unread),
        (SELECT COUNT(*) FROM (
            SELECT m.sequence FROM messages m WHERE m.channel_id = c.id AND m.mentions_channel + m.mentions_here > 0
                AND m.mentions_channel = 1 AND m.thread_id IS NULL AND m.sequence > cm.last_read AND m.user_id <> $1
            UNION SELECT n.sequence FROM mentions n WHERE n.user_id = $1 AND n.channel_id = c.id
                AND n.thread_id IS NULL AND n.sequence > cm.last_read
            LIMIT \(ChannelMembership.unreadLimit)) named)
        """

    private static func listing(_ row: inout SQLRow) throws -> ChannelListing {
        let channel = try channel(&row)
        let lastMessage = try row.integer()
        let memberCount = try row.int()
        guard let joinedAt = try row.timeOrNull() else {
            return ChannelListing(channel: channel, memberCount: memberCount, lastMessage: lastMessage, membership: nil)
        }
        let lastRead = try row.integer()
        let notifications: NotificationLevel = try row.name()
        return ChannelListing(
            channel: channel, memberCount: memberCount, lastMessage: lastMessage,
            membership: ChannelMembership(
                joinedAt: joinedAt, lastRead: lastRead, unread: try row.int(), mentions: try row.int(),
                notifications: notifications))
    }

    func listing(of channel: ChannelID, for user: UserID) throws -> ChannelListing {
        guard
            var row = try session.row(
                """
                SELECT \(Self.listingColumns) FROM channels c
                LEFT JOIN channel_members cm ON cm.channel_id = c.id AND cm.user_id = $1 WHERE c.id = $2
                """, .id(user), .id(channel))
        else { throw ChatError.notFound("channel") }
        return try Self.listing(&row)
    }

    package func channel(_ id: ChannelID, for user: UserID) throws -> ChannelListing {
        try demandToRead(.readChannel, in: id, by: user)
        return try listing(of: id, for: user)
    }

    /// The channels that somebody is in, with what is unread in each; by name, direct and group messages last.
    package func joinedChannels(of workspace: WorkspaceID, for user: UserID) throws -> [ChannelListing] {
        try demandToRead(.seeWorkspace, in: workspace, by: user)
        return try session.rows(
            """
            SELECT \(Self.listingColumns) FROM channel_members cm JOIN channels c ON c.id = cm.channel_id
            WHERE cm.user_id = $1 AND c.workspace_id = $2 ORDER BY c.name IS NULL, c.name, c.id
            """, .id(user), .id(workspace)
        ).map {
            var row = $0
            return try Self.listing(&row)
        }
    }

    /// The public channels that somebody could join, and those they are in, by name.
    package func publicChannels(
        of workspace: WorkspaceID, for user: UserID, after cursor: Cursor? = nil, limit: Int? = nil
    ) throws -> Page<ChannelListing> {
        let role = try demandToRead(.seeWorkspace, in: workspace, by: user)
        let limit = pageLength(limit)
        let rows = try session.rows(
            """
            SELECT \(Self.listingColumns) FROM channels c
            LEFT JOIN channel_members cm ON cm.channel_id = c.id AND cm.user_id = $1
            WHERE c.workspace_id = $2 AND c.kind = 'public' AND c.name > $3
                AND ($4 = 1 OR cm.user_id IS NOT NULL)
            ORDER BY c.name LIMIT $5
            """, .id(user), .id(workspace), .text(try cursor.map { try $0.name() } ?? ""), .flag(role != .guest),
            .integer(limit + 1))
        let listings = try rows.prefix(limit).map {
            var row = $0
            return try Self.listing(&row)
        }
        return Page(
            listings,
            after: rows.count > limit ? listings.last?.channel.name.map { Cursor(name: $0) } : nil)
    }

    /// Who is in a channel, by username.
    package func people(
        in channel: ChannelID, for user: UserID, after cursor: Cursor? = nil, limit: Int? = nil
    ) throws -> Page<Profile> {
        try demandToRead(.readChannel, in: channel, by: user)
        let limit = pageLength(limit)
        let rows = try session.rows(
            """
            SELECT \(Self.profileColumns) FROM channel_members cm JOIN users u ON u.id = cm.user_id
            WHERE cm.channel_id = $1 AND u.username > $2 ORDER BY u.username LIMIT $3
            """, .id(channel), .text(try cursor.map { try $0.name() } ?? ""), .integer(limit + 1))
        let people = try rows.prefix(limit).map {
            var row = $0
            return try Self.profile(&row)
        }
        return Page(people, after: rows.count > limit ? people.last.map { Cursor(name: $0.username) } : nil)
    }

    /// Remembers how far somebody has read; also back, for whoever wants to find something unread again.
    ///
    /// - Returns: the mark as it is now; nil when it was there already.
    package func read(_ channel: ChannelID, upTo sequence: Int64, by user: UserID) throws -> ReadMark? {
        let place = try demandToRead(.readChannel, in: channel, by: user)
        guard sequence >= 0 else { throw ChatError.invalid("last_read", "A message's number is not negative.") }
        // Whoever only looks at a channel has no mark in it.
        try Self.requireMembership(place)
        guard var row = try session.row("SELECT last_message FROM channels WHERE id = $1", .id(channel)) else {
            throw ChatError.notFound("channel")
        }
        let mark = ReadMark(channelID: channel, lastRead: min(sequence, try row.integer()))
        let changed = try session.run(
            "UPDATE channel_members SET last_read = $3 WHERE channel_id = $1 AND user_id = $2 AND last_read <> $3",
            .id(channel), .id(user), .integer(mark.lastRead))
        guard changed == 1 else { return nil }
        changes.marks[user] = mark
        return mark
    }

    package func setNotifications(_ level: NotificationLevel, of channel: ChannelID, by user: UserID) throws {
        let place = try demandToRead(.readChannel, in: channel, by: user)
        try Self.requireMembership(place)
        try session.run(
            "UPDATE channel_members SET notifications = $3 WHERE channel_id = $1 AND user_id = $2", .id(channel),
            .id(user), .name(level))
        if level == .none { changes.relieved.insert(user) }
    }

    static func requireMembership(_ place: ChannelPlace) throws {
        guard place.standing.channel?.isMember == true else { throw ChatError(.notInChannel) }
    }

    /// All marks of somebody in a workspace: what a device that was away learns of the others.
    package func readMarks(of user: UserID, in workspace: WorkspaceID) throws -> [ReadMark] {
        try session.rows(
            """
            SELECT cm.channel_id, cm.last_read FROM channel_members cm JOIN channels c ON c.id = cm.channel_id
            WHERE cm.user_id = $1 AND c.workspace_id = $2 ORDER BY cm.channel_id
            """, .id(user), .id(workspace)
        ).map {
            var row = $0
            return ReadMark(channelID: try row.id(), lastRead: try row.integer())
        }
    }
}
