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
    package func setPicture(_ facts: PictureFacts, of id: FileID) throws {
        if var row = try session.row("SELECT workspace_id FROM files WHERE id = $1", .id(id)) {
            try lock(try row.id())
        }
        let changed = try session.run(
            "UPDATE files SET width = $2, height = $3, thumbnail_type = $4 WHERE id = $1", .id(id),
            .integer(facts.width), .integer(facts.height), .text(facts.thumbnailType))
        guard changed == 1 else {
            // It was deleted meanwhile, and its thumbnail has come after that.
            try session.run("INSERT INTO file_leftovers (id) VALUES ($1) ON CONFLICT DO NOTHING", .id(id))
            changes.hasLeftovers = true
            return
        }
        // Of a workspace that is deleted there is nobody to tell.
        guard let file = try? storedFile(id), let message = file.message,
            var row = try session.row("SELECT workspace_id FROM files WHERE id = $1", .id(id))
        else { return }
        let shared = SharedFile(file: file.info, channelID: file.channel, messageID: message, userID: file.owner)
        try append(.fileUpdated(shared), to: .channel(file.channel), in: try row.id())
    }
}
