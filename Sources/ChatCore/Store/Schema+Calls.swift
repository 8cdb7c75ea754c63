extension Schema {
    static let calls = Step(
        "calls",
        """
        CREATE TABLE calls (
            id UUID PRIMARY KEY,
            workspace_id UUID NOT NULL REFERENCES workspaces (id),
            channel_id UUID NOT NULL REFERENCES channels (id),
            message_id UUID NOT NULL UNIQUE REFERENCES messages (id),
            kind TEXT NOT NULL,
            media TEXT NOT NULL,
            room {name} NOT NULL UNIQUE,
            started_by UUID NOT NULL REFERENCES users (id),
            started_at BIGINT NOT NULL,
            ended_at BIGINT,
            end_reason TEXT,
            version BIGINT NOT NULL
        );
        CREATE UNIQUE INDEX calls_running ON calls (channel_id) WHERE ended_at IS NULL;
        CREATE INDEX calls_of_channel ON calls (channel_id, id);
        CREATE TABLE call_participants (
            call_id UUID NOT NULL REFERENCES calls (id),
            user_id UUID NOT NULL REFERENCES users (id),
            place BIGINT NOT NULL,
            state TEXT NOT NULL,
            joined_at BIGINT,
            left_at BIGINT,
            sid TEXT,
            deadline BIGINT,
            PRIMARY KEY (call_id, user_id)
        );
        CREATE INDEX call_participants_due ON call_participants (deadline) WHERE deadline IS NOT NULL;
        CREATE INDEX call_participants_of_user ON call_participants (user_id) WHERE state = 'joined' OR state = 'ringing'
        """)
}
