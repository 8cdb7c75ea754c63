package import ChatModel

/// Files that are there: who may see them, which message they are in.
extension ChatTransaction {
    /// A file, and where it belongs.
    package struct StoredFile: Sendable, Equatable {
        package let info: FileInfo
        package let thumbnailType: String?
        package let channel: ChannelID
        package let message: MessageID?
        package let owner: UserID
        let isAvatar: Bool
    }

    private static let fileColumns =
        "f.id, f.name, f.media_type, f.size, f.width, f.height, f.thumbnail_type, f.created_at, f.channel_id, "
        + "f.message_id, f.user_id, f.is_avatar"

    private static func file(_ row: inout SQLRow) throws -> StoredFile {
        var info = FileInfo(
            id: try row.id(), name: try row.text(), mediaType: try row.text(), size: try row.integer(),
            width: try row.intOrNull(), height: try row.intOrNull(), createdAt: Timestamp(milliseconds: 0))
        let thumbnailType = try row.textOrNull()
        info.hasThumbnail = thumbnailType != nil
        info.createdAt = try row.time()
        return StoredFile(
            info: info, thumbnailType: thumbnailType, channel: try row.id(), message: try row.idOrNull(),
            owner: try row.id(), isAvatar: try row.flag())
    }

    /// A file whose bytes somebody has a link to. Of a workspace that is deleted there is none but people's pictures.
    package func storedFile(_ id: FileID) throws -> StoredFile {
        guard
            var row = try session.row(
                """
                SELECT \(Self.fileColumns) FROM files f JOIN workspaces w ON w.id = f.workspace_id
                WHERE f.id = $1 AND (w.deleted_at IS NULL OR f.is_avatar = 1)
                """, .id(id))
        else { throw ChatError.notFound("file") }
        return try Self.file(&row)
    }

    /// A file, for who may read the channel of its message; one that is in no message, for who has sent it.
    package func file(_ id: FileID, for user: UserID) throws -> StoredFile {
        let file = try storedFile(id)
        guard file.message != nil else {
            guard file.owner == user else { throw ChatError.notFound("file") }
            return file
        }
        guard Permission.readChannel.rule.verdict(on: try place(in: file.channel, of: user).standing) == .allowed
        else { throw ChatError.notFound("file") }
        return file
    }

    /// The files of messages, in the order of each.
    ///
    /// - Parameter list: names of as many parameters as there are messages.
    func files(ofMessages list: String, _ ids: [SQLValue]) throws -> [(message: MessageID, file: FileInfo)] {
        try session.rows(
            "SELECT \(Self.fileColumns) FROM files f WHERE f.message_id IN (\(list)) ORDER BY f.place", ids
        ).compactMap {
            var row = $0
            let file = try Self.file(&row)
            return file.message.map { ($0, file.info) }
        }
    }

    /// Puts files into a message that has just been written.
    func attach(_ files: [FileID], to message: MessageID, in channel: ChannelID, by user: UserID) throws {
        guard files.count <= limits.filesOfMessage, Set(files).count == files.count else {
            throw ChatError.invalid(
                "file_ids", "A message has at most \(limits.filesOfMessage) files, each of them once.")
        }
        for (place, file) in files.enumerated() {
            let isTaken = try session.run(
                """
                UPDATE files SET message_id = $2, place = $3
                WHERE id = $1 AND user_id = $4 AND channel_id = $5 AND message_id IS NULL AND is_avatar = 0
                """, .id(file), .id(message), .integer(place), .id(user), .id(channel))
            guard isTaken == 1 else { throw ChatError.notFound("file") }
        }
    }

    /// Takes the files of a message away.
    func discardFiles(of message: MessageID) throws {
        let isAny = try session.run(
            "INSERT INTO file_leftovers (id) SELECT id FROM files WHERE message_id = $1", .id(message))
        guard isAny > 0 else { return }
        try session.run("DELETE FROM files WHERE message_id = $1", .id(message))
        changes.hasLeftovers = true
    }

    /// Takes a file of one's own away that is in no message.
    package func discardFile(_ id: FileID, by user: UserID) throws {
        let file = try file(id, for: user)
        guard file.owner == user else {
            throw ChatError.forbidden("not_yours", "Only who made it may do this.")
        }
        guard !file.isAvatar else { throw ChatError.notFound("file") }
        let isGone = try session.run("DELETE FROM files WHERE id = $1 AND message_id IS NULL", .id(id))
        guard isGone == 1 else {
            throw ChatError.conflict("file_in_message", "The file is in a message: delete that.")
        }
        try leave(id)
    }

    private func leave(_ id: FileID) throws {
        try session.run("INSERT INTO file_leftovers (id) VALUES ($1)", .id(id))
        changes.hasLeftovers = true
    }

    /// Which files of a workspace are looked for.
    package struct FileFilter: Sendable {
        package var channel: ChannelID?
        package var sender: UserID?

        package init() {}
    }

    /// Files of messages that somebody may read, the newest first.
    package func files(
        of workspace: WorkspaceID, _ filter: FileFilter, for user: UserID, after cursor: Cursor? = nil,
        limit: Int? = nil
    ) throws -> Page<SharedFile> {
        let role = try demandToRead(.seeWorkspace, in: workspace, by: user)
        if let channel = filter.channel { try demandToRead(.readChannel, in: channel, by: user) }
        let limit = pageLength(limit)
        var conditions = [
            "f.workspace_id = $1", "f.message_id IS NOT NULL",
            "(cm.user_id IS NOT NULL OR c.kind = 'public' AND $3 = 1)",
        ]
        var arguments: [SQLValue] = [.id(workspace), .id(user), .flag(role != .guest)]
        func demand(_ condition: String, _ value: SQLValue) {
            arguments.append(value)
            conditions.append("\(condition) $\(arguments.count)")
        }
        if let channel = filter.channel { demand("f.channel_id =", .id(channel)) }
        if let sender = filter.sender { demand("f.user_id =", .id(sender)) }
        if let cursor {
            guard let last = FileID(try cursor.name()) else {
                throw ChatError.invalid("cursor", "This cursor is not from this list.")
            }
            demand("f.id <", .id(last))
        }
        arguments.append(.integer(limit + 1))
        let rows = try session.rows(
            """
            SELECT \(Self.fileColumns) FROM files f JOIN channels c ON c.id = f.channel_id
            LEFT JOIN channel_members cm ON cm.channel_id = f.channel_id AND cm.user_id = $2
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY f.id DESC LIMIT $\(arguments.count)
            """, arguments)
        let files = try rows.prefix(limit).compactMap {
            var row = $0
            let file = try Self.file(&row)
            return file.message.map {
                SharedFile(file: file.info, channelID: file.channel, messageID: $0, userID: file.owner)
            }
        }
        return Page(
            files, after: rows.count > limit ? files.last.map { Cursor(name: $0.file.id.description) } : nil)
    }

    // MARK: Pictures of people

    /// Shows a picture of one's own as oneself, from now on; nil for none.
    package func setAvatar(_ id: FileID?, of user: UserID) throws -> Account {
        // The picture before is taken away once, and none is left behind.
        try lockUser(user)
        if let id {
            let file = try file(id, for: user)
            guard file.owner == user, file.message == nil else { throw ChatError.notFound("file") }
            guard file.thumbnailType != nil else {
                throw ChatError.invalid("file_id", "This takes a picture.")
            }
            guard file.info.size <= limits.avatarSize else {
                throw ChatError(
                    .tooLarge, code: "file_too_large", "A picture has at most \(limits.avatarSize) bytes.",
                    field: "file_id")
            }
            try session.run("UPDATE files SET is_avatar = 1 WHERE id = $1", .id(id))
        }
        guard
            var row = try session.row("SELECT avatar_id FROM users WHERE id = $1", .id(user))
        else { throw ChatError.notFound("user") }
        if let former: FileID = try row.idOrNull(), former != id {
            try session.run("DELETE FROM files WHERE id = $1", .id(former))
            try leave(former)
        }
        try session.run(
            "UPDATE users SET avatar_id = $2, updated_at = $3 WHERE id = $1", .id(user), .id(id), .time(now))
        try tellWorkspaces(of: user)
        return try account(of: user)
    }

    /// The file that somebody shows as themselves.
    package func avatar(_ id: FileID) throws -> StoredFile {
        let file = try storedFile(id)
        guard file.isAvatar else { throw ChatError.notFound("file") }
        return file
    }
}
