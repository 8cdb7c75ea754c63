extension Schema {
    /// Files, those that are on their way, and those whose bytes are still to be taken away.
    static let files = Step(
        "files",
        """
        CREATE TABLE uploads (
            id UUID PRIMARY KEY,
            workspace_id UUID NOT NULL REFERENCES workspaces (id),
            channel_id UUID NOT NULL REFERENCES channels (id),
            user_id UUID NOT NULL REFERENCES users (id),
            name TEXT NOT NULL,
            media_type TEXT NOT NULL,
            size BIGINT NOT NULL,
            sha256 TEXT,
            handle TEXT,
            created_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL
        );
        CREATE INDEX uploads_of_user ON uploads (user_id);
        CREATE INDEX uploads_of_workspace ON uploads (workspace_id);
        CREATE INDEX uploads_by_end ON uploads (expires_at);
        CREATE TABLE files (
            id UUID PRIMARY KEY,
            workspace_id UUID NOT NULL REFERENCES workspaces (id),
            channel_id UUID NOT NULL REFERENCES channels (id),
            user_id UUID NOT NULL REFERENCES users (id),
            message_id UUID REFERENCES messages (id),
            place BIGINT NOT NULL,
            name TEXT NOT NULL,
            media_type TEXT NOT NULL,
            size BIGINT NOT NULL,
            width BIGINT,
            height BIGINT,
            thumbnail_type TEXT,
            is_avatar BIGINT NOT NULL,
            created_at BIGINT NOT NULL
        );
        CREATE INDEX files_of_message ON files (message_id) WHERE message_id IS NOT NULL;
        CREATE INDEX files_of_workspace ON files (workspace_id, id);
        CREATE INDEX files_without_message ON files (created_at) WHERE message_id IS NULL;
        CREATE TABLE file_leftovers (
            id UUID PRIMARY KEY,
            handle TEXT
        );
        """)

    /// When something was sent to an upload last; nil while nothing but its announcement has come.
    static let touchedUploads = Step("touched_uploads", "ALTER TABLE uploads ADD COLUMN touched_at BIGINT")

    /// Whether somebody is to look for a picture in a file.
    static let awaitedPictures = Step(
        "awaited_pictures",
        """
        ALTER TABLE files ADD COLUMN awaits_look BIGINT NOT NULL DEFAULT 0;
        CREATE INDEX files_that_await_a_look ON files (created_at) WHERE awaits_look = 1
        """)
}
