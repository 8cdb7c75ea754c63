package import ChatModel

/// Which part of a list of messages is read.
package enum HistoryPart: Sendable, Equatable {
    /// The end of it.
    case newest
    case before(Cursor)
    case after(Cursor)
    /// A message with what is before and behind it.
    case around(MessageID)
    /// From the first unread one on, with something before it.
    case unread
}

/// Reading messages.
extension ChatTransaction {
    private static let messageColumns =
        "m.id, m.workspace_id, m.channel_id, m.thread_id, m.kind, m.content, m.client_id, m.sequence, m.created_at, "
        + "m.edited_at, m.deleted_at, m.pinned_at, m.mentions_channel, m.mentions_here, m.reply_count, "
        + "m.last_reply_at, m.version, \(profileColumns)"

    private static func message(_ row: inout SQLRow) throws -> Message {
        let (id, workspace, channel): (MessageID, WorkspaceID, ChannelID) = (
            try row.id(), try row.id(), try row.id()
        )
        let thread: MessageID? = try row.idOrNull()
        let (kind, content, client): (MessageKind, String, String?) = (
            try row.name(), try row.text(), try row.textOrNull()
        )
        let sequence = try row.integer()
        let (createdAt, editedAt, deletedAt, pinnedAt) = (
            try row.time(), try row.timeOrNull(), try row.timeOrNull(), try row.timeOrNull()
        )
        let mentions = Mentions(isChannel: try row.flag(), isHere: try row.flag())
        let (replyCount, lastReplyAt, version) = (try row.int(), try row.timeOrNull(), try row.integer())
        return Message(
            id: id, workspaceID: workspace, channelID: channel, user: try profile(&row), threadID: thread, kind: kind,
            content: content, clientID: client, sequence: sequence, createdAt: createdAt, editedAt: editedAt,
            deletedAt: deletedAt, pinnedAt: pinnedAt, mentions: mentions, replyCount: replyCount,
            lastReplyAt: lastReplyAt, version: version)
    }

    /// Messages of rows, with what belongs to them from other tables.
    private func messages(_ rows: [SQLRow]) throws -> [Message] {
        var messages = try rows.map {
            var row = $0
            return try Self.message(&row)
        }
        guard !messages.isEmpty else { return [] }
        let places = Dictionary(uniqueKeysWithValues: messages.indices.map { (messages[$0].id, $0) })
        let ids = messages.map { SQLValue.id($0.id) }
        let list = ids.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        for var row in try session.rows(
            "SELECT message_id, user_id FROM mentions WHERE message_id IN (\(list)) AND by_here <> 1 ORDER BY user_id",
            ids)
        {
            guard let place = places[try row.id()] else { continue }
            messages[place].mentions.userIDs.append(try row.id())
        }
        // A version before kept what looks the same in several forms, of which one person may have more than one.
        var keys: [String: String] = [:]
        var mixed: Set<String> = []
        for var row in try session.rows(
            """
            SELECT message_id, emoji, user_id FROM reactions WHERE message_id IN (\(list))
            ORDER BY created_at, user_id
            """, ids)
        {
            guard let place = places[try row.id()] else { continue }
            let (form, user): (String, UserID) = (try row.text(), try row.id())
            let emoji = keys[form] ?? Texts.emojiKey(form)
            keys[form] = emoji
            if form != emoji { mixed.insert(emoji) }
            if let index = messages[place].reactions.firstIndex(where: { $0.emoji == emoji }) {
                if mixed.contains(emoji), messages[place].reactions[index].userIDs.contains(user) { continue }
                messages[place].reactions[index].add(user)
            } else {
                messages[place].reactions.append(Reaction(emoji: emoji, userIDs: [user]))
            }
        }
        let calls = try calls(ofMessages: messages.filter { $0.kind == .call && $0.deletedAt == nil }.map(\.id))
        for (id, call) in calls { places[id].map { messages[$0].call = call } }
        for (message, file) in try files(ofMessages: list, ids) {
            guard let place = places[message] else { continue }
            messages[place].files.append(file)
        }
        return messages
    }

    /// Messages that are there, in the order that is asked for.
    func messages(_ ids: [MessageID]) throws -> [Message] {
        guard !ids.isEmpty else { return [] }
        let list = ids.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        let rows = try session.rows(
            "SELECT \(Self.messageColumns) FROM messages m JOIN users u ON u.id = m.user_id WHERE m.id IN (\(list))",
            ids.map { SQLValue.id($0) })
        let found = Dictionary(uniqueKeysWithValues: try messages(rows).map { ($0.id, $0) })
        return ids.compactMap { found[$0] }
    }

    func message(_ id: MessageID) throws -> Message {
        let rows = try session.rows(
            "SELECT \(Self.messageColumns) FROM messages m JOIN users u ON u.id = m.user_id WHERE m.id = $1", .id(id))
        guard let message = try messages(rows).first else { throw ChatError.notFound("message") }
        return message
    }

    func message(ofClient clientID: String, by user: UserID, in channel: ChannelID) throws -> Message? {
        let rows = try session.rows(
            """
            SELECT \(Self.messageColumns) FROM messages m JOIN users u ON u.id = m.user_id
            WHERE m.channel_id = $1 AND m.user_id = $2 AND m.client_id = $3
            """, .id(channel), .id(user), .text(clientID))
        return try messages(rows).first
    }

    /// One message, for who may read its channel.
    package func message(_ id: MessageID, for user: UserID) throws -> Message {
        let message = try message(id)
        guard Permission.readChannel.rule.verdict(on: try place(in: message.channelID, of: user).standing) == .allowed
        else { throw ChatError.notFound("message") }
        return message
    }

    /// A channel's messages outside threads, oldest first.
    package func history(
        of channel: ChannelID, _ part: HistoryPart, limit: Int? = nil, for user: UserID
    ) throws -> Page<Message> {
        try demandToRead(.readChannel, in: channel, by: user)
        let list = MessageList(condition: "m.channel_id = $1 AND m.thread_id IS NULL", of: .id(channel))
        switch part {
        case .newest: return try page(of: list, before: .max, limit)
        case .before(let cursor): return try page(of: list, before: try cursor.sequence(), limit)
        case .after(let cursor): return try page(of: list, after: try cursor.sequence(), limit)
        case .around(let id):
            let message = try message(id)
            guard message.channelID == channel else { throw ChatError.notFound("message") }
            // Of an answer, where its thread is.
            let place = try message.threadID.map { try self.message($0).sequence } ?? message.sequence
            return try page(of: list, around: place, limit)
        case .unread:
            guard
                var row = try session.row(
                    "SELECT last_read FROM channel_members WHERE channel_id = $1 AND user_id = $2", .id(channel),
                    .id(user))
            else { return try page(of: list, before: .max, limit) }
            return try page(of: list, around: try row.integer(), limit)
        }
    }

    /// The answers to a message, oldest first.
    package func replies(
        to id: MessageID, _ part: HistoryPart, limit: Int? = nil, for user: UserID
    ) throws -> Page<Message> {
        _ = try message(id, for: user)
        let list = MessageList(condition: "m.thread_id = $1", of: .id(id))
        switch part {
        case .newest, .unread: return try page(of: list, before: .max, limit)
        case .before(let cursor): return try page(of: list, before: try cursor.sequence(), limit)
        case .after(let cursor): return try page(of: list, after: try cursor.sequence(), limit)
        case .around(let reply):
            let message = try message(reply)
            guard message.threadID == id else { throw ChatError.notFound("message") }
            return try page(of: list, around: message.sequence, limit)
        }
    }

    /// A channel's pinned messages, the latest pin first.
    package func pins(of channel: ChannelID, for user: UserID) throws -> [Message] {
        try demandToRead(.readChannel, in: channel, by: user)
        return try messages(
            try session.rows(
                """
                SELECT \(Self.messageColumns) FROM messages m JOIN users u ON u.id = m.user_id
                WHERE m.channel_id = $1 AND m.pinned_at IS NOT NULL ORDER BY m.pinned_at DESC, m.sequence DESC LIMIT $2
                """, .id(channel), .integer(limits.pinsOfChannel)))
    }

    // MARK: Pages

    /// Messages in the order of their numbers.
    private struct MessageList {
        /// In SQL, of messages `m`; names `$1`.
        let condition: String
        let argument: SQLValue

        init(condition: String, of argument: SQLValue) {
            self.condition = condition
            self.argument = argument
        }
    }

    /// Deleted messages are passed over, unless there are answers to them.
    private func rows(
        of list: MessageList, _ comparison: String, _ sequence: Int64, _ order: String, _ limit: Int
    ) throws -> [SQLRow] {
        try session.rows(
            """
            SELECT \(Self.messageColumns) FROM messages m JOIN users u ON u.id = m.user_id
            WHERE \(list.condition) AND m.sequence \(comparison) $2 AND (m.deleted_at IS NULL OR m.reply_count > 0)
            ORDER BY m.sequence \(order) LIMIT $3
            """, list.argument, .integer(sequence), .integer(limit))
    }

    private func page(of list: MessageList, before sequence: Int64, _ limit: Int?) throws -> Page<Message> {
        let limit = pageLength(limit)
        let rows = try rows(of: list, "<", sequence, "DESC", limit + 1)
        let messages = try messages(rows.prefix(limit).reversed())
        return Page(
            messages, before: rows.count > limit ? messages.first.map { Cursor(sequence: $0.sequence) } : nil,
            after: sequence == .max ? nil : (messages.last?.sequence ?? max(0, sequence - 1)).cursor)
    }

    private func page(of list: MessageList, after sequence: Int64, _ limit: Int?) throws -> Page<Message> {
        let limit = pageLength(limit)
        let rows = try rows(of: list, ">", sequence, "ASC", limit + 1)
        let messages = try messages(Array(rows.prefix(limit)))
        return Page(
            messages,
            // Where nothing is newer, what was seen before is older than this.
            before: messages.first?.sequence.cursor ?? (sequence > 0 ? min(sequence, .max - 1) + 1 : nil)?.cursor,
            after: rows.count > limit ? messages.last?.sequence.cursor : nil)
    }

    private func page(of list: MessageList, around sequence: Int64, _ limit: Int?) throws -> Page<Message> {
        let limit = pageLength(limit)
        let half = max(limit / 2, 1)
        let older = try rows(of: list, "<=", sequence, "DESC", half + 1)
        let shown = older.prefix(half)
        let newer = try rows(of: list, ">", sequence, "ASC", limit - shown.count + 1)
        let taken = newer.prefix(limit - shown.count)
        let messages = try messages(shown.reversed() + taken)
        return Page(
            messages,
            before: older.count > shown.count ? messages.first.map { Cursor(sequence: $0.sequence) } : nil,
            after: newer.count > taken.count ? messages.last?.sequence.cursor : nil)
    }
}

extension Int64 {
    fileprivate var cursor: Cursor { Cursor(sequence: self) }
}
