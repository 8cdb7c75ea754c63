package import ChatModel

/// What is known of pictures once somebody has looked into them, which is after they have become files.
extension ChatTransaction {
    /// What a look into a file has found.
    package struct PictureFacts: Sendable, Equatable {
        /// In pixels, as it is shown.
        package var width: Int
        package var height: Int
        /// Nil where there is no thumbnail.
        package var thumbnailType: String?

        package init(width: Int, height: Int, thumbnailType: String?) {
            self.width = width
            self.height = height
            self.thumbnailType = thumbnailType
        }
    }

    /// A look into a file has found a picture. Who sees the message that it is in by now is told.
    ///
    /// - Returns: whether the file is still there.
    @discardableResult
    package func setPicture(_ facts: PictureFacts, of id: FileID) throws -> Bool {
        if var row = try session.row("SELECT workspace_id FROM files WHERE id = $1", .id(id)) {
            try lock(try row.id())
        }
        let changed = try session.run(
            "UPDATE files SET width = $2, height = $3, thumbnail_type = $4, awaits_look = 0 WHERE id = $1", .id(id),
            .integer(facts.width), .integer(facts.height), .text(facts.thumbnailType))
        guard changed == 1 else {
            // It was deleted meanwhile, and its thumbnail has come after that.
            try session.run("INSERT INTO file_leftovers (id) VALUES ($1) ON CONFLICT DO NOTHING", .id(id))
            changes.hasLeftovers = true
            return false
        }
        // Of a workspace that is deleted there is nobody to tell.
        guard let file = try? storedFile(id), let message = file.message,
            var row = try session.row("SELECT workspace_id FROM files WHERE id = $1", .id(id))
        else { return true }
        let shared = SharedFile(file: file.info, channelID: file.channel, messageID: message, userID: file.owner)
        try append(.fileUpdated(shared), to: .channel(file.channel), in: try row.id())
        return true
    }

    /// A look into a file has found no picture: nobody looks again.
    package func setNoPicture(of id: FileID) throws {
        try session.run("UPDATE files SET awaits_look = 0 WHERE id = $1", .id(id))
    }

    /// A file that somebody is to look into.
    package struct AwaitedPicture: Sendable, Equatable {
        package let id: FileID
        package let owner: UserID
        /// In bytes.
        package let size: Int64
    }

    /// What nobody has looked into since then, the newest first: a server has ended before it did.
    package func awaitedPictures(since time: Timestamp, atMost count: Int) throws -> [AwaitedPicture] {
        try session.rows(
            """
            SELECT id, user_id, size FROM files WHERE awaits_look = 1 AND created_at >= $1
            ORDER BY created_at DESC LIMIT $2
            """, .time(time), .integer(count)
        ).map {
            var row = $0
            return AwaitedPicture(id: try row.id(), owner: try row.id(), size: try row.integer())
        }
    }
}
