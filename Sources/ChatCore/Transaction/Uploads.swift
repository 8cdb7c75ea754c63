package import ChatModel

/// Files on their way: the tables know what is to come, the store of files how much of it is there.
extension ChatTransaction {
    package struct NewUpload: Sendable {
        package var name: String
        /// Nil where the sender does not know.
        package var mediaType: String?
        /// In bytes.
        package var size: Int64
        /// In hexadecimal; nil to compare nothing.
        package var sha256: String?

        package init(name: String, mediaType: String? = nil, size: Int64, sha256: String? = nil) {
            self.name = name
            self.mediaType = mediaType
            self.size = size
            self.sha256 = sha256
        }
    }

    /// An upload as it is kept.
    package struct Upload: Sendable, Equatable {
        package let id: FileID
        package let channel: ChannelID
        package let name: String
        package let mediaType: String
        package let size: Int64
        package let sha256: String?
        /// What the store of files calls it; nil before it has begun there.
        package let handle: String?
        package let expiresAt: Timestamp
        /// When something was sent to it last, as far as that was noted.
        package let touchedAt: Timestamp
    }

    package func beginUpload(_ new: NewUpload, to channel: ChannelID, by user: UserID) throws -> Upload {
        let place = try demand(.uploadFile, in: channel, by: user)
        let name = try Texts.fileName(new.name)
        let mediaType = try Texts.mediaType(new.mediaType)
        let digest = try new.sha256.map { try Texts.digest($0) }
        guard new.size > 0 else { throw ChatError.invalid("size", "A file has at least one byte.") }
        guard new.size <= limits.fileSize else {
            throw ChatError(
                .tooLarge, code: "file_too_large", "A file has at most \(limits.fileSize) bytes.", field: "size")
        }
        try Texts.checkType(of: name, mediaType, limits)
        try makeRoomForUpload(of: user)
        try checkStorage(of: place.workspace, for: new.size)
        let upload = Upload(
            id: makeID(), channel: channel, name: name, mediaType: mediaType, size: new.size, sha256: digest,
            handle: nil, expiresAt: now.advanced(by: lifetimes.upload), touchedAt: now)
        try session.run(
            """
            INSERT INTO uploads (id, workspace_id, channel_id, user_id, name, media_type, size, sha256, created_at,
                expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            """, .id(upload.id), .id(place.workspace), .id(channel), .id(user), .text(name), .text(mediaType),
            .integer(new.size), .text(digest), .time(now), .time(upload.expiresAt))
        return upload
    }

    /// Who has as many as they may loses the ones that are idle for longest: an app that has ended, or a page that was
    /// loaded anew, knows of its own no more, and nobody can end them.
    private func makeRoomForUpload(of user: UserID) throws {
        guard
            var row = try session.row(
                "SELECT COUNT(*) FROM uploads WHERE user_id = $1 AND expires_at > $2", .id(user), .time(now))
        else { return }
        let excess = try row.int() - limits.openUploads + 1
        guard excess > 0 else { return }
        let idle = try session.rows(
            """
            DELETE FROM uploads WHERE id IN (
                SELECT id FROM uploads
                WHERE user_id = $1 AND expires_at > $2 AND COALESCE(touched_at, created_at) <= $3
                ORDER BY COALESCE(touched_at, created_at), id LIMIT $4)
            RETURNING id, handle
            """, .id(user), .time(now), .time(now.advanced(by: .zero - lifetimes.idleUpload)), .integer(excess))
        guard idle.count == excess else {
            throw ChatError.conflict(
                "too_many_uploads", "Nobody has more than \(limits.openUploads) uploads under way.")
        }
        try leave(idle)
    }

    /// Something is sent to an upload.
    ///
    /// - Throws: when it has given way to another one.
    package func touchUpload(_ id: FileID) throws {
        guard try session.run("UPDATE uploads SET touched_at = $2 WHERE id = $1", .id(id), .time(now)) == 1 else {
            throw ChatError.notFound("upload")
        }
    }

    /// What is under way counts as if it were there. PostgreSQL's sum of such numbers is of another type.
    private func checkStorage(of workspace: WorkspaceID, for size: Int64) throws {
        guard let most = limits.workspaceStorage else { return }
        guard
            var row = try session.row(
                """
                SELECT CAST(COALESCE((SELECT SUM(size) FROM files WHERE workspace_id = $1), 0)
                    + COALESCE((SELECT SUM(size) FROM uploads WHERE workspace_id = $1 AND expires_at > $2), 0)
                    AS BIGINT)
                """, .id(workspace), .time(now)), try row.integer() <= most - size
        else { throw ChatError.conflict("storage_full", "The workspace has no room for this file.") }
    }

    /// The store of files has begun it, and calls it so.
    package func setHandle(_ handle: String, of upload: FileID) throws {
        try session.run("UPDATE uploads SET handle = $2 WHERE id = $1", .id(upload), .text(handle))
    }

    /// An upload of one's own.
    package func upload(_ id: FileID, by user: UserID) throws -> Upload {
        guard
            var row = try session.row(
                """
                SELECT channel_id, name, media_type, size, sha256, handle, expires_at,
                    COALESCE(touched_at, created_at)
                FROM uploads
                WHERE id = $1 AND user_id = $2 AND expires_at > $3
                """, .id(id), .id(user), .time(now))
        else { throw ChatError.notFound("upload") }
        return Upload(
            id: id, channel: try row.id(), name: try row.text(), mediaType: try row.text(), size: try row.integer(),
            sha256: try row.textOrNull(), handle: try row.textOrNull(), expiresAt: try row.time(),
            touchedAt: try row.time())
    }

    /// What an upload of one's own has become; nil when it is none, or not finished yet.
    package func finishedUpload(_ id: FileID, by user: UserID) throws -> FileInfo? {
        do {
            let file = try file(id, for: user)
            return file.owner == user ? file.info : nil
        } catch let error as ChatError where error.kind == .notFound {
            return nil
        }
    }

    /// All of it is there: from now on it is a file, which waits for its message. Said again it is the same file: the
    /// first answer was lost.
    ///
    /// - Parameter awaitsLook: whether somebody is to look for a picture in it.
    package func finishUpload(_ id: FileID, by user: UserID, awaitsLook: Bool = false) throws -> FileInfo {
        if let file = try finishedUpload(id, by: user) { return file }
        let upload = try upload(id, by: user)
        let place = try demand(.uploadFile, in: upload.channel, by: user)
        guard try session.run("DELETE FROM uploads WHERE id = $1", .id(id)) == 1 else {
            // Another server was asked the same at once, and has made it meanwhile.
            if let file = try finishedUpload(id, by: user) { return file }
            throw ChatError.notFound("upload")
        }
        try session.run(
            """
            INSERT INTO files (id, workspace_id, channel_id, user_id, place, name, media_type, size, is_avatar,
                created_at, awaits_look)
            VALUES ($1, $2, $3, $4, 0, $5, $6, $7, 0, $8, $9)
            """, .id(id), .id(place.workspace), .id(upload.channel), .id(user), .text(upload.name),
            .text(upload.mediaType), .integer(upload.size), .time(now), .flag(awaitsLook))
        return try storedFile(id).info
    }

    package func abandonUpload(_ id: FileID, by user: UserID) throws {
        _ = try upload(id, by: user)
        try leave(try session.rows("DELETE FROM uploads WHERE id = $1 RETURNING id, handle", .id(id)))
    }

    /// What is to be taken away is what this transaction has found and nobody else has: it is told of by the statement
    /// that deletes it.
    private func leave(_ rows: [SQLRow]) throws {
        for var row in rows {
            try session.run(
                "INSERT INTO file_leftovers (id, handle) VALUES ($1, $2)", .id(try row.id() as FileID),
                .text(try row.textOrNull()))
            changes.hasLeftovers = true
        }
    }

    // MARK: What is over

    /// Bytes that the store of files is to take away.
    package struct Leftover: Sendable, Equatable {
        package let id: FileID
        /// Of an upload that had begun.
        package let handle: String?
    }

    /// Gives up uploads that are too old, and files that are in no message and too old.
    package func expireFiles() throws {
        let old = now.advanced(by: .zero - lifetimes.upload)
        try leave(
            try session.rows("DELETE FROM uploads WHERE expires_at <= $1 RETURNING id, handle", .time(now)))
        try leave(
            try session.rows(
                """
                DELETE FROM files WHERE message_id IS NULL AND is_avatar = 0 AND created_at <= $1
                RETURNING id, NULL
                """, .time(old)))
    }

    package func leftovers(after id: FileID? = nil) throws -> [Leftover] {
        try session.rows(
            "SELECT id, handle FROM file_leftovers \(id == nil ? "" : "WHERE id > $1") ORDER BY id LIMIT 100",
            id.map { [.id($0)] } ?? []
        ).map {
            var row = $0
            return Leftover(id: try row.id(), handle: try row.textOrNull())
        }
    }

    /// They have been taken away.
    package func forgetLeftovers(_ ids: [FileID]) throws {
        for id in ids { try session.run("DELETE FROM file_leftovers WHERE id = $1", .id(id)) }
    }
}
