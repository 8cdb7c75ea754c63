extension Schema {
    /// Refresh tokens from before a session's former one: whoever comes with one of them has it from somewhere.
    static let formerTokens = Step(
        "former_tokens",
        """
        CREATE TABLE former_tokens (
            token_hash BYTEA PRIMARY KEY,
            session_id UUID NOT NULL REFERENCES sessions (id),
            rotated_at BIGINT NOT NULL
        );
        CREATE INDEX former_tokens_of_session ON former_tokens (session_id, rotated_at)
        """)

    /// Words of a workspace are found without looking at those of others: its identifier is a word of a column of its
    /// own. PostgreSQL takes the workspace from the message.
    static let searchByWorkspace = Step(
        "search_by_workspace",
        sqlite: """
            DROP TRIGGER message_words_insert;
            DROP TRIGGER message_words_update;
            DROP TABLE message_words;
            CREATE VIEW message_places AS
            SELECT row, content, 'w' || lower(hex(workspace_id)) AS place FROM messages;
            CREATE VIRTUAL TABLE message_words USING fts5(content, place, content='message_places', \
            content_rowid='row', tokenize='unicode61 remove_diacritics 2');
            INSERT INTO message_words (message_words) VALUES ('rebuild');
            CREATE TRIGGER message_words_insert AFTER INSERT ON messages BEGIN
                INSERT INTO message_words (rowid, content, place)
                VALUES (new.row, new.content, 'w' || lower(hex(new.workspace_id))); END;
            CREATE TRIGGER message_words_update AFTER UPDATE OF content ON messages BEGIN
                INSERT INTO message_words (message_words, rowid, content, place)
                VALUES ('delete', old.row, old.content, 'w' || lower(hex(old.workspace_id))); \
            INSERT INTO message_words (rowid, content, place)
                VALUES (new.row, new.content, 'w' || lower(hex(new.workspace_id))); END
            """,
        postgres: "")
}
