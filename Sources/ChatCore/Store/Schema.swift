/// The tables, as a list of steps that only ever grows: a database has taken the first so many of them, and a server
/// takes the others when it starts.
///
/// One text serves both databases. `UUID` and `BYTEA` are types of PostgreSQL's, in which SQLite keeps bytes; flags are
/// numbers, and times are milliseconds since 1970. `{serial}` is a number that the database gives, and `{name}` a text
/// that is sorted by its bytes, whatever the machine's language.
package enum Schema {
    package struct Step: Sendable {
        package let name: String
        private let sqlite: String
        private let postgres: String

        init(_ name: String, _ text: String) { self.init(name, sqlite: text, postgres: text) }

        /// A step that is another one in each database.
        init(_ name: String, sqlite: String, postgres: String) {
            self.name = name
            self.sqlite = sqlite
            self.postgres = postgres
        }

        /// Its statements, one after the other.
        package func statements(for dialect: SQLDialect) -> [String] {
            let (text, serial, name) =
                switch dialect {
                case .sqlite: (sqlite, "INTEGER PRIMARY KEY", "TEXT")
                case .postgres: (postgres, "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", #"TEXT COLLATE "C""#)
                }
            return text.replacing("{serial}", with: serial).replacing("{name}", with: name).split(separator: ";\n")
                .map { $0.trimmingPrefix { $0.isWhitespace } }.filter { !$0.isEmpty }.map { String($0) }
        }
    }

    package static let steps = [
        people, workspaces, channels, messages, events, search, formerTokens, searchByWorkspace, calls, push, files,
        imports, nodes, threadFollowers, workspaceDeletion, declinedCalls, leftChanges,
        awaitedPictures, registrations, icons, versions, mentionsByHere, searchWords, conversations,
        touchedUploads, unspacedScripts,
    ]

    static let people = Step(
        "people",
        """
        CREATE TABLE settings (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL
        );
        CREATE TABLE users (
            id UUID PRIMARY KEY,
            email TEXT NOT NULL,
            email_key TEXT NOT NULL UNIQUE,
            username {name} NOT NULL UNIQUE,
            display_name TEXT NOT NULL,
            display_key TEXT NOT NULL,
            avatar_id UUID,
            status TEXT NOT NULL,
            status_text TEXT NOT NULL,
            password_hash TEXT NOT NULL,
            email_verified_at BIGINT,
            is_server_owner BIGINT NOT NULL,
            deactivated_at BIGINT,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL
        );
        CREATE TABLE sessions (
            id UUID PRIMARY KEY,
            user_id UUID NOT NULL REFERENCES users (id),
            token_hash BYTEA NOT NULL UNIQUE,
            former_hash BYTEA UNIQUE,
            is_confirmed BIGINT NOT NULL,
            device TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            rotated_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL,
            ended_at BIGINT
        );
        CREATE INDEX sessions_of_user ON sessions (user_id);
        CREATE TABLE email_tokens (
            token_hash BYTEA PRIMARY KEY,
            user_id UUID NOT NULL REFERENCES users (id),
            purpose TEXT NOT NULL,
            email TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL
        );
        CREATE INDEX email_tokens_of_user ON email_tokens (user_id);
        """)

    static let workspaces = Step(
        "workspaces",
        """
        CREATE TABLE workspaces (
            id UUID PRIMARY KEY,
            name {name} NOT NULL,
            slug TEXT NOT NULL UNIQUE,
            sequence BIGINT NOT NULL,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL
        );
        CREATE TABLE members (
            workspace_id UUID NOT NULL REFERENCES workspaces (id),
            user_id UUID NOT NULL REFERENCES users (id),
            role TEXT NOT NULL,
            joined_at BIGINT NOT NULL,
            PRIMARY KEY (workspace_id, user_id)
        );
        CREATE INDEX members_of_user ON members (user_id);
        CREATE TABLE invitations (
            id UUID PRIMARY KEY,
            workspace_id UUID NOT NULL REFERENCES workspaces (id),
            token_hash BYTEA NOT NULL UNIQUE,
            email TEXT,
            role TEXT NOT NULL,
            created_by UUID NOT NULL REFERENCES users (id),
            created_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL,
            uses BIGINT NOT NULL,
            maximum_uses BIGINT,
            revoked_at BIGINT
        );
        CREATE INDEX invitations_of_workspace ON invitations (workspace_id);
        CREATE TABLE invitation_channels (
            invitation_id UUID NOT NULL REFERENCES invitations (id),
            channel_id UUID NOT NULL,
            PRIMARY KEY (invitation_id, channel_id)
        );
        """)

    static let channels = Step(
        "channels",
        """
        CREATE TABLE channels (
            id UUID PRIMARY KEY,
            workspace_id UUID NOT NULL REFERENCES workspaces (id),
            kind TEXT NOT NULL,
            name {name},
            people_key TEXT,
            topic TEXT NOT NULL,
            purpose TEXT NOT NULL,
            created_by UUID NOT NULL REFERENCES users (id),
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL,
            archived_at BIGINT,
            last_message BIGINT NOT NULL,
            version BIGINT NOT NULL,
            UNIQUE (workspace_id, name),
            UNIQUE (workspace_id, people_key)
        );
        CREATE TABLE channel_members (
            channel_id UUID NOT NULL REFERENCES channels (id),
            user_id UUID NOT NULL REFERENCES users (id),
            joined_at BIGINT NOT NULL,
            last_read BIGINT NOT NULL,
            notifications TEXT NOT NULL,
            PRIMARY KEY (channel_id, user_id)
        );
        CREATE INDEX channel_members_of_user ON channel_members (user_id, channel_id);
        """)

    static let messages = Step(
        "messages",
        """
        CREATE TABLE messages (
            row {serial},
            id UUID NOT NULL UNIQUE,
            workspace_id UUID NOT NULL REFERENCES workspaces (id),
            channel_id UUID NOT NULL REFERENCES channels (id),
            user_id UUID NOT NULL REFERENCES users (id),
            thread_id UUID,
            kind TEXT NOT NULL,
            content TEXT NOT NULL,
            client_id TEXT,
            sequence BIGINT NOT NULL,
            created_at BIGINT NOT NULL,
            edited_at BIGINT,
            deleted_at BIGINT,
            pinned_at BIGINT,
            mentions_channel BIGINT NOT NULL,
            mentions_here BIGINT NOT NULL,
            reply_count BIGINT NOT NULL,
            last_reply_at BIGINT,
            version BIGINT NOT NULL,
            UNIQUE (channel_id, user_id, client_id)
        );
        CREATE INDEX messages_of_channel ON messages (channel_id, sequence) WHERE thread_id IS NULL;
        CREATE INDEX messages_of_thread ON messages (thread_id, sequence) WHERE thread_id IS NOT NULL;
        CREATE INDEX messages_for_everybody ON messages (channel_id, sequence)
            WHERE mentions_channel + mentions_here > 0 AND thread_id IS NULL;
        CREATE INDEX messages_pinned ON messages (channel_id, pinned_at) WHERE pinned_at IS NOT NULL;
        CREATE TABLE mentions (
            message_id UUID NOT NULL REFERENCES messages (id),
            user_id UUID NOT NULL REFERENCES users (id),
            channel_id UUID NOT NULL,
            thread_id UUID,
            sequence BIGINT NOT NULL,
            PRIMARY KEY (message_id, user_id)
        );
        CREATE INDEX mentions_of_user ON mentions (user_id, channel_id, sequence) WHERE thread_id IS NULL;
        CREATE TABLE reactions (
            message_id UUID NOT NULL REFERENCES messages (id),
            emoji TEXT NOT NULL,
            user_id UUID NOT NULL REFERENCES users (id),
            created_at BIGINT NOT NULL,
            PRIMARY KEY (message_id, emoji, user_id)
        );
        """)

    static let events = Step(
        "events",
        """
        CREATE TABLE events (
            workspace_id UUID NOT NULL REFERENCES workspaces (id),
            sequence BIGINT NOT NULL,
            kind TEXT NOT NULL,
            audience TEXT NOT NULL,
            channel_id UUID,
            user_id UUID,
            message_id UUID,
            data TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            PRIMARY KEY (workspace_id, sequence)
        );
        CREATE INDEX events_of_message ON events (message_id) WHERE message_id IS NOT NULL;
        """)

    /// The words of messages, for searching: without a language's endings, for people write in many.
    static let search = Step(
        "search",
        sqlite: """
            CREATE VIRTUAL TABLE message_words
            USING fts5(content, content='messages', content_rowid='row', tokenize='unicode61 remove_diacritics 2');
            CREATE TRIGGER message_words_insert AFTER INSERT ON messages BEGIN
                INSERT INTO message_words (rowid, content) VALUES (new.row, new.content); END;
            CREATE TRIGGER message_words_update AFTER UPDATE OF content ON messages BEGIN
                INSERT INTO message_words (message_words, rowid, content) VALUES ('delete', old.row, old.content); \
            INSERT INTO message_words (rowid, content) VALUES (new.row, new.content); END
            """,
        postgres: """
            ALTER TABLE messages ADD COLUMN words tsvector
                GENERATED ALWAYS AS (to_tsvector('simple', content)) STORED;
            CREATE INDEX message_words ON messages USING GIN (words)
            """)
}
