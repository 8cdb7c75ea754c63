extension Schema {
    private static let deletion = """
        ALTER TABLE workspaces ADD COLUMN deleted_at BIGINT;
        CREATE TABLE workspace_leftovers (
            workspace_id UUID PRIMARY KEY REFERENCES workspaces (id),
            source TEXT
        );
        CREATE INDEX files_of_channel ON files (channel_id);
        CREATE INDEX uploads_of_channel ON uploads (channel_id);
        CREATE INDEX imports_of_workspaces ON imports (id) WHERE kind = 'workspace'
        """

    /// Workspaces that are deleted, and those whose rows are still to be taken away; `source` is the file that one was
    /// imported from. What goes with a channel is found by it. Words of messages that go are taken out of SQLite's
    /// index; PostgreSQL has them in the message.
    static let workspaceDeletion = Step(
        "workspace_deletion",
        sqlite: deletion + """
            ;
            CREATE TRIGGER message_words_delete BEFORE DELETE ON messages BEGIN
                INSERT INTO message_words (message_words, rowid, content, place)
                VALUES ('delete', old.row, old.content, 'w' || lower(hex(old.workspace_id))); END
            """,
        postgres: deletion)

    /// Who has said no to a call, and when: whoever does so twice within a minute has quiet for as long.
    static let declinedCalls = Step(
        "declined_calls",
        """
        CREATE TABLE declined_calls (
            channel_id UUID NOT NULL,
            user_id UUID NOT NULL REFERENCES users (id),
            declined_at BIGINT NOT NULL
        );
        CREATE INDEX declined_calls_of_user ON declined_calls (user_id, channel_id, declined_at);
        CREATE INDEX declined_calls_of_channel ON declined_calls (channel_id)
        """)
}
