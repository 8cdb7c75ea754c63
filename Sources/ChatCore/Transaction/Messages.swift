package import ChatModel

/// Messages: writing, changing and deleting them.
extension ChatTransaction {
    /// What somebody writes.
    package struct NewMessage: Sendable {
        package var content: String
        /// The message in whose thread it is.
        package var threadID: MessageID?
        /// A name of the client's choosing, by which sending it again gives the message that there is.
        package var clientID: String?
        /// Of the sender's own, in no message so far; with them there need be no words.
        package var fileIDs: [FileID]
        /// Who is there: whom `@here` calls.
        package var peopleHere: Set<UserID>

        package init(
            content: String, threadID: MessageID? = nil, clientID: String? = nil, fileIDs: [FileID] = [],
            peopleHere: Set<UserID> = []
        ) {
            self.content = content
            self.threadID = threadID
            self.clientID = clientID
            self.fileIDs = fileIDs
            self.peopleHere = peopleHere
        }
    }

    /// - Returns: the message, and whether it is new: false when the client has sent it before.
    package func send(
        _ new: NewMessage, to channel: ChannelID, by user: UserID
    ) throws -> (message: Message, isNew: Bool) {
        if let clientID = new.clientID {
            guard (1...64).contains(clientID.utf8.count), clientID.utf8.allSatisfy({ 0x20 < $0 && $0 < 0x7f }) else {
                throw ChatError.invalid("client_id", "A client's name of a message has from 1 to 64 ASCII characters.")
            }
        }
        let place = try demand(.sendMessage, in: channel, by: user)
        if let clientID = new.clientID, let sent = try message(ofClient: clientID, by: user, in: channel) {
            return (sent, false)
        }
        let content = try Texts.content(new.content, isEmptyAllowed: !new.fileIDs.isEmpty, limits)
        if let thread = new.threadID { try checkThread(thread, in: channel) }
        let mentions = MentionParser(content)
        if mentions.isChannel || mentions.isHere {
            try Permission.mentionEverybody.check(place.standing, of: "channel")
        }
        let (id, sequence) = try insertMessage(
            .text, content, in: place, thread: new.threadID, by: user, clientID: new.clientID, mentions: mentions)
        if mentions.isHere {
            try call(new.peopleHere, by: id, of: user, in: channel, thread: new.threadID, as: sequence)
        }
        if let thread = new.threadID {
            let isForAll = mentions.isChannel || place.standing.channel?.kind.isDirect == true
            if isForAll || mentions.isHere || !mentions.usernames.isEmpty {
                try noteCalled(
                    by: id, as: sequence, to: thread, lastReply: sequence, in: place.workspace, channel,
                    isForAll: isForAll)
            }
        }
        try attach(new.fileIDs, to: id, in: channel, by: user)
        changes.tally.messages += 1
        let message = try message(id)
        try append(.messageSent(message), to: .channel(channel), in: place.workspace, as: sequence)
        return (message, true)
    }

    /// Writes a message, of which whoever calls this tells.
    func insertMessage(
        _ kind: MessageKind, _ content: String = "", in place: ChannelPlace, thread: MessageID? = nil,
        by user: UserID, clientID: String? = nil, mentions: MentionParser = MentionParser("")
    ) throws -> (id: MessageID, sequence: Int64) {
        let id: MessageID = makeID()
        let sequence = try nextSequence(in: place.workspace)
        try session.run(
            """
            INSERT INTO messages (id, workspace_id, channel_id, user_id, thread_id, kind, content, client_id, sequence,
                created_at, mentions_channel, mentions_here, reply_count, version)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, 1)
            """, .id(id), .id(place.workspace), .id(place.channel), .id(user), .id(thread), .name(kind),
            .text(content), .text(clientID), .integer(sequence), .time(now), .flag(mentions.isChannel),
            .flag(mentions.isHere))
        try insert(mentions, of: id, by: user, in: place, thread: thread, as: sequence)
        if let thread {
            try session.run(
                "UPDATE messages SET reply_count = reply_count + 1, last_reply_at = $2 WHERE id = $1", .id(thread),
                .time(now))
            try noteReply(to: thread, by: user, as: sequence, in: place.workspace, place.channel)
        } else {
            try session.run(
                "UPDATE channels SET last_message = $2 WHERE id = $1", .id(place.channel), .integer(sequence))
        }
        return (id, sequence)
    }

    private func checkThread(_ thread: MessageID, in channel: ChannelID) throws {
        guard
            var row = try session.row(
                "SELECT channel_id, thread_id, deleted_at, reply_count FROM messages WHERE id = $1", .id(thread)),
            try row.id() == channel
        else { throw ChatError.notFound("thread") }
        let outer: MessageID? = try row.idOrNull()
        // Of a deleted message only a thread that there is goes on.
        let isDeleted = try row.timeOrNull() != nil
        guard try !isDeleted || row.int() > 0 else { throw ChatError.notFound("thread") }
        guard outer == nil else {
            throw ChatError.invalid("thread_id", "A thread is that of a message outside threads.")
        }
    }

    /// Those who are named and are in the channel: others do not learn of it, and nobody calls themselves.
    private func insert(
        _ mentions: MentionParser, of id: MessageID, by author: UserID, in place: ChannelPlace, thread: MessageID?,
        as sequence: Int64
    ) throws {
        for username in mentions.usernames {
            let names = [username] + (mentions.shorterNames[username] ?? [])
            guard let name = try taken(names, in: place.workspace) else { continue }
            // The same person may be named twice, with and without what follows a name.
            try session.run(
                """
                INSERT INTO mentions (message_id, user_id, channel_id, thread_id, sequence)
                SELECT $1, u.id, $2, $3, $4 FROM users u
                JOIN channel_members cm ON cm.user_id = u.id AND cm.channel_id = $2
                WHERE u.username = $5 AND u.id <> $6
                ON CONFLICT (message_id, user_id) DO NOTHING
                """, .id(id), .id(place.channel), .id(thread), .integer(sequence), .text(name), .id(author))
        }
    }

    /// The longest of these names that somebody in the workspace has; of one alone nothing is asked.
    private func taken(_ names: [String], in workspace: WorkspaceID) throws -> String? {
        guard names.count > 1 else { return names.first }
        let list = names.indices.map { "$\($0 + 2)" }.joined(separator: ", ")
        guard
            var row = try session.rows(
                """
                SELECT u.username FROM users u JOIN members m ON m.user_id = u.id AND m.workspace_id = $1
                WHERE u.username IN (\(list)) ORDER BY LENGTH(u.username) DESC LIMIT 1
                """, [.id(workspace)] + names.map { .text($0) }
            ).first
        else { return nil }
        return try row.text()
    }

    /// Those who are there when `@here` calls them, and are in the channel; of who is named besides both is kept. In
    /// rows, for what somebody has missed is counted when they are there or not.
    private func call(
        _ people: Set<UserID>, by id: MessageID, of author: UserID, in channel: ChannelID, thread: MessageID?,
        as sequence: Int64
    ) throws {
        var left = people.sorted()[...]
        while !left.isEmpty {
            let part = left.prefix(500)
            left = left.dropFirst(part.count)
            let list = part.indices.map { "$\($0 - part.startIndex + 6)" }.joined(separator: ", ")
            try session.run(
                """
                INSERT INTO mentions (message_id, user_id, channel_id, thread_id, sequence, by_here)
                SELECT $1, cm.user_id, $2, $3, $4, 1 FROM channel_members cm
                WHERE cm.channel_id = $2 AND cm.user_id <> $5 AND cm.user_id IN (\(list))
                ON CONFLICT (message_id, user_id) DO UPDATE SET by_here = 2
                """,
                [.id(id), .id(channel), .id(thread), .integer(sequence), .id(author)] + part.map { .id($0) })
        }
    }

    /// A message that somebody has asked to change, with what they may.
    private func target(
        _ id: MessageID, _ permission: Permission, by user: UserID
    ) throws -> (message: Message, place: ChannelPlace) {
        guard var row = try session.row("SELECT channel_id FROM messages WHERE id = $1", .id(id)) else {
            throw ChatError.notFound("message")
        }
        let channel: ChannelID = try row.id()
        var place = try self.place(in: channel, of: user)
        try lock(place.workspace)
        place = try self.place(in: channel, of: user)
        let message = try self.message(id)
        var standing = place.standing
        standing.isOwn = message.user.id == user
        try permission.check(standing, of: "message")
        guard message.deletedAt == nil else { throw ChatError.notFound("message") }
        return (message, place)
    }

    /// - Parameters:
    ///   - version: of the message that whoever asks has seen; nil to change whatever is there.
    ///   - peopleHere: who is there: whom an `@here` calls that was not in it before.
    package func edit(
        _ id: MessageID, to content: String, ifVersion version: Int64? = nil, peopleHere: Set<UserID> = [],
        by user: UserID
    ) throws -> Message {
        let (message, place) = try target(id, .editMessage, by: user)
        guard message.kind == .text else {
            throw ChatError.conflict("not_a_text", "What the server has written is not edited.")
        }
        if let version, version != message.version { throw ChatError.outdated }
        let content = try Texts.content(content, isEmptyAllowed: !message.files.isEmpty, limits)
        let mentions = MentionParser(content)
        if mentions.isChannel && !message.mentions.isChannel || mentions.isHere && !message.mentions.isHere {
            try Permission.mentionEverybody.check(place.standing, of: "message")
        }
        try session.run(
            """
            UPDATE messages SET content = $2, edited_at = $3, version = version + 1, mentions_channel = $4,
                mentions_here = $5
            WHERE id = $1
            """, .id(id), .text(content), .time(now), .flag(mentions.isChannel), .flag(mentions.isHere))
        // Whom it has called stays called, whoever is there by now, also who was named besides and no longer is.
        let called = message.mentions.isHere && mentions.isHere ? try calledByHere(id) : peopleHere
        let former = try calledBy(id)
        if message.mentions.isChannel, !mentions.isChannel { try relieve(of: message) }
        try session.run("DELETE FROM mentions WHERE message_id = $1", .id(id))
        try insert(
            mentions, of: id, by: user, in: place, thread: message.threadID, as: message.sequence)
        if mentions.isHere {
            try call(called, by: id, of: user, in: message.channelID, thread: message.threadID, as: message.sequence)
        }
        let named = try calledBy(id)
        changes.relieved.formUnion(former.subtracting(named))
        // Whoever has come into the channel since is not called by what called everybody before.
        let callsAll = mentions.isChannel && !message.mentions.isChannel
        if let thread = message.threadID, callsAll || !named.isSubset(of: former) {
            try noteCalled(
                by: id, as: message.sequence, to: thread, lastReply: try lastReply(to: thread), in: place.workspace,
                message.channelID, isForAll: callsAll)
        }
        let edited = try self.message(id)
        try takeFormerWords(of: edited)
        try append(.messageEdited(edited), to: .channel(message.channelID), in: place.workspace)
        return edited
    }

    /// Those whom it names, or has called.
    private func calledBy(_ message: MessageID) throws -> Set<UserID> {
        var users: Set<UserID> = []
        for var row in try session.rows("SELECT user_id FROM mentions WHERE message_id = $1", .id(message)) {
            users.insert(try row.id())
        }
        return users
    }

    /// Whoever has not read a message that counts on icons may have nothing unread without it.
    private func relieve(of message: Message) throws {
        // Answers count for who follows the thread.
        let (readers, place): (String, SQLValue) =
            if let thread = message.threadID {
                ("thread_followers r JOIN channels c ON c.id = r.channel_id WHERE r.thread_id = $1", .id(thread))
            } else {
                (
                    "channel_members r JOIN channels c ON c.id = r.channel_id WHERE r.channel_id = $1",
                    .id(message.channelID)
                )
            }
        let rows = try session.rows(
            """
            SELECT r.user_id FROM \(readers) AND r.last_read < $2 AND (c.people_key IS NOT NULL OR $3 = 1
                OR EXISTS (SELECT 1 FROM mentions n WHERE n.message_id = $4 AND n.user_id = r.user_id))
            """, place, .integer(message.sequence), .flag(message.mentions.isChannel), .id(message.id))
        for var row in rows { changes.relieved.insert(try row.id()) }
    }

    /// Takes a message's words and files away, from the log of events as well. Where there are answers to it, its place
    /// stays.
    package func delete(_ id: MessageID, by user: UserID) throws {
        let (message, place) = try target(id, .deleteMessage, by: user)
        try relieve(of: message)
        try session.run(
            """
            UPDATE messages SET content = '', deleted_at = $2, pinned_at = NULL, mentions_channel = 0,
                mentions_here = 0, version = version + 1
            WHERE id = $1
            """, .id(id), .time(now))
        try session.run("DELETE FROM mentions WHERE message_id = $1", .id(id))
        try session.run("DELETE FROM reactions WHERE message_id = $1", .id(id))
        try discardFiles(of: id)
        try session.run("DELETE FROM events WHERE message_id = $1", .id(id))
        if let thread = message.threadID {
            try session.run(
                """
                UPDATE messages SET reply_count = reply_count - 1, last_reply_at = (
                    SELECT MAX(r.created_at) FROM messages r WHERE r.thread_id = $1 AND r.deleted_at IS NULL)
                WHERE id = $1
                """, .id(thread))
            try noteReplyIsGone(from: thread)
        }
        let deletion = MessageDeletion(
            messageID: id, channelID: message.channelID, threadID: message.threadID, deletedAt: now)
        try append(.messageDeleted(deletion), to: .channel(message.channelID), in: place.workspace)
    }

    // MARK: Reactions

    /// Answers a message with an emoji; again is the same as once.
    package func react(_ emoji: String, to id: MessageID, by user: UserID) throws -> Message {
        let emoji = try Texts.emoji(emoji)
        let (message, place) = try target(id, .react, by: user)
        if message.reactions.count >= limits.emojiOfMessage, !message.reactions.contains(where: { $0.emoji == emoji }) {
            throw ChatError.conflict("too_many_emoji", "This message has been answered with as many emoji as it may.")
        }
        guard !message.reactions.contains(where: { $0.emoji == emoji && $0.userIDs.contains(user) }) else {
            return message
        }
        let isNew = try session.run(
            """
            INSERT INTO reactions (message_id, emoji, user_id, created_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT DO NOTHING
            """, .id(id), .text(emoji), .id(user), .time(now))
        guard isNew == 1 else { return message }
        return try told(of: emoji, on: message, by: user, at: place) { .reactionAdded($0) }
    }

    package func unreact(_ emoji: String, to id: MessageID, by user: UserID) throws -> Message {
        let emoji = try Texts.emoji(emoji, isNew: false)
        let (message, place) = try target(id, .react, by: user)
        // A version before kept it as it was written.
        let own = try session.rows(
            "SELECT emoji FROM reactions WHERE message_id = $1 AND user_id = $2", .id(id), .id(user)
        ).map {
            var row = $0
            return try row.text()
        }
        let forms = own.filter { Texts.emojiKey($0) == emoji }
        guard !forms.isEmpty else { return message }
        for form in forms {
            try session.run(
                "DELETE FROM reactions WHERE message_id = $1 AND emoji = $2 AND user_id = $3", .id(id), .text(form),
                .id(user))
        }
        return try told(of: emoji, on: message, by: user, at: place) { .reactionRemoved($0) }
    }

    private func told(
        of emoji: String, on message: Message, by user: UserID, at place: ChannelPlace,
        _ change: (ReactionChange) -> ChatChange
    ) throws -> Message {
        let changed = try self.message(message.id)
        let reaction = changed.reactions.first { $0.emoji == emoji } ?? Reaction(emoji: emoji, userIDs: [])
        let data = ReactionChange(
            messageID: message.id, channelID: message.channelID, userID: user, reaction: reaction)
        try append(change(data), to: .channel(message.channelID), in: place.workspace)
        return changed
    }

    // MARK: Pins

    /// Keeps a message where everybody in the channel finds it, or no longer.
    package func setPinned(_ isPinned: Bool, _ id: MessageID, by user: UserID) throws -> Message {
        let (message, place) = try target(id, .pinMessage, by: user)
        guard (message.pinnedAt != nil) != isPinned else { return message }
        if isPinned {
            guard
                var row = try session.row(
                    "SELECT COUNT(*) FROM messages WHERE channel_id = $1 AND pinned_at IS NOT NULL",
                    .id(message.channelID)), try row.int() < limits.pinsOfChannel
            else {
                throw ChatError.conflict("too_many_pins", "A channel has at most \(limits.pinsOfChannel) pins.")
            }
        }
        try session.run("UPDATE messages SET pinned_at = $2 WHERE id = $1", .id(id), isPinned ? .time(now) : .null)
        let changed = try self.message(id)
        try append(
            isPinned ? .messagePinned(changed) : .messageUnpinned(changed), to: .channel(message.channelID),
            in: place.workspace)
        return changed
    }
}
