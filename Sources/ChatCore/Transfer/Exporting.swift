package import ChatModel

/// Writing a workspace out, page by page. Asked for by whoever runs the machine: all of it, private channels among it.
/// Passwords, sessions, devices and invitations are in none of this.
extension ChatTransaction {
    /// Whose addresses are in an export, by username.
    ///
    /// - Parameter username: of the last one of the page before.
    package func exportedMembers(
        of workspace: WorkspaceID, after username: String, limit: Int = 500
    ) throws -> [(user: ExportedUser, member: ExportedMember)] {
        try session.rows(
            """
            SELECT u.id, u.username, u.display_name, u.email, u.created_at, u.deactivated_at, m.role, m.joined_at
            FROM members m JOIN users u ON u.id = m.user_id
            WHERE m.workspace_id = $1 AND u.username > $2 ORDER BY u.username LIMIT $3
            """, .id(workspace), .text(username), .integer(limit)
        ).map {
            var row = $0
            let user = try Self.exportedUser(&row)
            return (user, ExportedMember(userID: user.id, role: try row.name(), joinedAt: try row.time()))
        }
    }

    /// Somebody who is not in the workspace any more: without their address.
    package func exportedStranger(_ user: UserID) throws -> ExportedUser {
        guard
            var row = try session.row(
                """
                SELECT u.id, u.username, u.display_name, NULL, u.created_at, u.deactivated_at FROM users u
                WHERE u.id = $1
                """, .id(user))
        else { throw ChatError.notFound("user") }
        return try Self.exportedUser(&row)
    }

    private static func exportedUser(_ row: inout SQLRow) throws -> ExportedUser {
        let id: UserID = try row.id()
        return ExportedUser(
            id: id.description, username: try row.text(), displayName: try row.text(), email: try row.textOrNull(),
            createdAt: try row.time(), deactivatedAt: try row.timeOrNull())
    }

    /// All channels in the order of their identifiers, direct and group messages among them.
    package func exportedChannels(
        of workspace: WorkspaceID, after last: ChannelID?, limit: Int = 500
    ) throws -> [ExportedChannel] {
        try session.rows(
            """
            SELECT \(Self.channelColumns), c.archived_at FROM channels c
            WHERE c.workspace_id = $1 \(last == nil ? "" : "AND c.id > $3") ORDER BY c.id LIMIT $2
            """, [.id(workspace), .integer(limit)] + (last.map { [.id($0)] } ?? [])
        ).map {
            var row = $0
            let channel = try Self.channel(&row)
            return ExportedChannel(
                id: channel.id.description, kind: channel.kind, name: channel.name, topic: channel.topic,
                purpose: channel.purpose, userIDs: channel.userIDs.map(\.description),
                createdBy: channel.createdBy.description, createdAt: channel.createdAt,
                archivedAt: try row.timeOrNull())
        }
    }

    /// A page of messages, and where the next begins.
    package struct ExportedPage: Sendable {
        package let messages: [ExportedMessage]
        /// Nil behind the last.
        package let next: Int64?
    }

    /// The workspace's messages in the order in which they were taken: an answer comes behind what it answers. Deleted
    /// ones are there where there are answers.
    ///
    /// - Parameters:
    ///   - place: where the page begins; 0 for the first.
    ///   - newest: the number of the last message that belongs to the export.
    package func exportedMessages(
        of workspace: WorkspaceID, from place: Int64, upTo newest: Int64, limit: Int = 500
    ) throws -> ExportedPage {
        // The order of rows is that of the workspace's numbers: both are given while it is locked.
        let places: [(row: Int64, id: MessageID)] = try session.rows(
            """
            SELECT m.row, m.id FROM messages m
            WHERE m.workspace_id = $1 AND m.row >= $2 AND m.sequence <= $3
                AND (m.deleted_at IS NULL OR m.reply_count > 0)
            ORDER BY m.row LIMIT $4
            """, .id(workspace), .integer(place), .integer(newest), .integer(limit)
        ).map {
            var row = $0
            return (try row.integer(), try row.id())
        }
        let reactions = try exportedReactions(to: places.map(\.id))
        return ExportedPage(
            messages: try messages(places.map(\.id)).map { ExportedMessage($0, reactions[$0.id] ?? []) },
            next: places.count == limit ? places.last.map { $0.row + 1 } : nil)
    }

    private func exportedReactions(to messages: [MessageID]) throws -> [MessageID: [ExportedReaction]] {
        guard !messages.isEmpty else { return [:] }
        let list = messages.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        var reactions: [MessageID: [ExportedReaction]] = [:]
        for var row in try session.rows(
            """
            SELECT message_id, emoji, user_id, created_at FROM reactions WHERE message_id IN (\(list))
            ORDER BY created_at, user_id, emoji
            """, messages.map { SQLValue.id($0) })
        {
            let (message, emoji, user): (MessageID, String, UserID) = (try row.id(), try row.text(), try row.id())
            reactions[message, default: []].append(
                ExportedReaction(emoji: emoji, userID: user.description, createdAt: try row.time()))
        }
        return reactions
    }

    /// Who is in which channel, and what they have read there.
    ///
    /// - Parameter last: of the page before.
    package func exportedChannelMembers(
        of workspace: WorkspaceID, after last: (channel: ChannelID, user: UserID)?, upTo newest: Int64, limit: Int = 500
    ) throws -> [ExportedChannelMember] {
        try session.rows(
            """
            SELECT cm.channel_id, cm.user_id, cm.joined_at, cm.notifications, (
                SELECT m.id FROM messages m
                WHERE m.channel_id = cm.channel_id AND m.thread_id IS NULL AND m.sequence <= cm.last_read
                    AND m.sequence <= $3 AND (m.deleted_at IS NULL OR m.reply_count > 0)
                ORDER BY m.sequence DESC LIMIT 1)
            FROM channel_members cm JOIN channels c ON c.id = cm.channel_id
            WHERE c.workspace_id = $1 \(last == nil ? "" : "AND (cm.channel_id, cm.user_id) > ($4, $5)")
            ORDER BY cm.channel_id, cm.user_id LIMIT $2
            """,
            [.id(workspace), .integer(limit), .integer(newest)]
                + (last.map { [.id($0.channel), .id($0.user)] } ?? [])
        ).map {
            var row = $0
            let (channel, user): (ChannelID, UserID) = (try row.id(), try row.id())
            let (joinedAt, notifications): (Timestamp, NotificationLevel) = (try row.time(), try row.name())
            let lastRead: MessageID? = try row.idOrNull()
            return ExportedChannelMember(
                channelID: channel.description, userID: user.description, joinedAt: joinedAt,
                notifications: notifications, lastRead: lastRead?.description)
        }
    }
}

extension ExportedMessage {
    fileprivate init(_ message: Message, _ reactions: [ExportedReaction]) {
        self.init(
            id: message.id.description, channelID: message.channelID.description,
            userID: message.user.id.description, threadID: message.threadID?.description, kind: message.kind,
            content: message.content, clientID: message.clientID, createdAt: message.createdAt,
            editedAt: message.editedAt, deletedAt: message.deletedAt, pinnedAt: message.pinnedAt,
            mentions: ExportedMentions(
                userIDs: message.mentions.userIDs.map(\.description), isChannel: message.mentions.isChannel,
                isHere: message.mentions.isHere),
            reactions: reactions,
            files: message.files.map { ExportedFile(name: $0.name, mediaType: $0.mediaType, size: $0.size) },
            call: message.call.map { ExportedCall($0) })
    }
}
