internal import ChatModel

/// Reading messages in.
extension ChatTransaction {
    func take(_ message: ExportedMessage, _ progress: inout ImportProgress) throws {
        let (source, workspace) = try progress.place()
        progress.messages += 1
        if let _: MessageID = try imported(.message, message.id, from: source) { return }
        let (channel, user) = (try progress.channel(message.channelID), try progress.person(message.userID))
        let thread = try thread(of: message, in: channel, from: source)
        let id: MessageID = makeID(at: message.createdAt)
        let sequence = try nextSequence(in: workspace)
        try session.run(
            """
            INSERT INTO messages (id, workspace_id, channel_id, user_id, thread_id, kind, content, client_id, sequence,
                created_at, edited_at, deleted_at, pinned_at, mentions_channel, mentions_here, reply_count, version)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 0, $16)
            """, .id(id), .id(workspace), .id(channel), .id(user), .id(thread), .name(message.kind),
            .text(message.deletedAt == nil ? content(of: message, progress) : ""), .text(message.clientID),
            .integer(sequence), .time(message.createdAt), .time(message.editedAt), .time(message.deletedAt),
            .time(message.pinnedAt), .flag(message.mentions.isChannel), .flag(message.mentions.isHere),
            .integer(message.editedAt == nil ? 1 : 2))
        if let thread {
            try session.run(
                "UPDATE messages SET reply_count = reply_count + 1, last_reply_at = $2 WHERE id = $1", .id(thread),
                .time(message.createdAt))
            try noteReply(to: thread, by: user, as: sequence, in: workspace, channel, isRead: true)
        } else {
            try session.run(
                "UPDATE channels SET last_message = $2 WHERE id = $1", .id(channel), .integer(sequence))
        }
        for person in message.mentions.userIDs {
            try session.run(
                """
                INSERT INTO mentions (message_id, user_id, channel_id, thread_id, sequence)
                VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
                """, .id(id), .id(try progress.person(person)), .id(channel), .id(thread), .integer(sequence))
        }
        try take(message.reactions, to: id, progress)
        if let call = message.call { try take(call, of: id, in: (channel, workspace), progress) }
        try remember(.message, message.id, from: source, as: id)
        progress.added.messages += 1
    }

    /// Nil for what is outside threads, and where the beginning of the thread is not in the file.
    private func thread(
        of message: ExportedMessage, in channel: ChannelID, from source: String
    ) throws -> MessageID? {
        guard let key = message.threadID, let thread: MessageID = try imported(.message, key, from: source),
            try session.row(
                "SELECT 1 FROM messages WHERE id = $1 AND channel_id = $2 AND thread_id IS NULL", .id(thread),
                .id(channel)) != nil
        else { return nil }
        return thread
    }

    /// With the names that people have here, and those of files whose bytes are not in the export.
    private func content(of message: ExportedMessage, _ progress: ImportProgress) -> String {
        var names: [String: String] = [:]
        // Who names themselves is not called by it, and is named all the same.
        for key in [message.userID] + message.mentions.userIDs {
            guard let person = progress.people[key] else { continue }
            let former = person.formerName.lowercased()
            if former != person.name { names[former] = person.name }
        }
        let content = MentionNames.replaced(in: message.content.replacing("\0", with: ""), by: names)
        let files = message.files.map { "📎 \(Texts.oneLine($0.name))" }
        return ((content.isEmpty ? [] : [content]) + files).joined(separator: "\n")
    }

    private func take(_ reactions: [ExportedReaction], to message: MessageID, _ progress: ImportProgress) throws {
        for reaction in reactions {
            guard let emoji = try? Texts.emoji(reaction.emoji) else { continue }
            try session.run(
                """
                INSERT INTO reactions (message_id, emoji, user_id, created_at) VALUES ($1, $2, $3, $4)
                ON CONFLICT DO NOTHING
                """, .id(message), .text(emoji), .id(try progress.person(reaction.userID)),
                .time(reaction.createdAt))
        }
    }

    /// The record of a call. One that went on when the export was made is over.
    private func take(
        _ call: ExportedCall, of message: MessageID, in place: (channel: ChannelID, workspace: WorkspaceID),
        _ progress: ImportProgress
    ) throws {
        let id: CallID = makeID(at: call.startedAt)
        let reason = call.endReason ?? (call.endedAt == nil ? .failed : nil)
        try session.run(
            """
            INSERT INTO calls (id, workspace_id, channel_id, message_id, kind, media, room, started_by, started_at,
                ended_at, end_reason, version)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1)
            """, .id(id), .id(place.workspace), .id(place.channel), .id(message), .name(call.kind), .name(call.media),
            .text("imported-\(id)"), .id(try progress.person(call.startedBy)), .time(call.startedAt),
            .time(call.endedAt ?? call.startedAt), .text(reason?.rawValue))
        for (index, participant) in call.participants.enumerated() {
            let state: CallParticipantState =
                switch participant.state {
                case .ringing: .missed
                case .joined: .left
                case .left, .declined, .missed: participant.state
                }
            try session.run(
                """
                INSERT INTO call_participants (call_id, user_id, place, state, joined_at, left_at)
                VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
                """, .id(id), .id(try progress.person(participant.userID)), .integer(index), .name(state),
                .time(participant.joinedAt), .time(participant.leftAt))
        }
    }
}

/// Names behind an `@`, where people have others now.
enum MentionNames {
    /// - Parameter names: the new ones by the old ones, in lower case.
    static func replaced(in content: String, by names: [String: String]) -> String {
        guard !names.isEmpty else { return content }
        var (result, name): ([UInt8], [UInt8]?) = ([], nil)
        func end() {
            guard let read = name else { return }
            // A name does not end with a full stop, which ends the sentence.
            let own = read.prefix(read.count - read.reversed().prefix { $0 == UInt8(ascii: ".") }.count)
            let new = names[String(decoding: own, as: UTF8.self).lowercased()]
            result += (new.map { Array($0.utf8) } ?? Array(own)) + read.dropFirst(own.count)
            name = nil
        }
        for byte in content.utf8 {
            let isPart = Texts.isNameByte(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            if isPart, name != nil {
                name?.append(byte)
            } else {
                end()
                // The `@` of an address has a name in front of it.
                if byte == UInt8(ascii: "@"), result.last.map({ !Texts.isNameByte($0) && $0 < 0x80 }) ?? true {
                    name = []
                }
                result.append(byte)
            }
        }
        end()
        return String(decoding: result, as: UTF8.self)
    }
}
