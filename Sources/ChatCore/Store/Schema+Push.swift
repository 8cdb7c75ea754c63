extension Schema {
    /// Where notifications are pushed to and when, and how far that has come.
    static let push = Step(
        "push",
        """
        CREATE TABLE devices (
            id UUID PRIMARY KEY,
            user_id UUID NOT NULL REFERENCES users (id),
            session_id UUID NOT NULL REFERENCES sessions (id),
            platform TEXT NOT NULL,
            app_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            name TEXT NOT NULL,
            alert_token TEXT UNIQUE,
            alert_registered_at BIGINT,
            voip_token TEXT UNIQUE,
            voip_registered_at BIGINT,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL,
            UNIQUE (session_id, app_id)
        );
        CREATE INDEX devices_of_user ON devices (user_id, updated_at);
        CREATE INDEX devices_without_tokens ON devices (id) WHERE alert_token IS NULL AND voip_token IS NULL;
        CREATE TABLE notification_settings (
            user_id UUID PRIMARY KEY REFERENCES users (id),
            push_when TEXT NOT NULL,
            show_preview BIGINT NOT NULL,
            quiet_from BIGINT,
            quiet_to BIGINT,
            quiet_zone TEXT,
            quiet_days TEXT,
            updated_at BIGINT NOT NULL
        );
        CREATE TABLE push_positions (
            workspace_id UUID PRIMARY KEY REFERENCES workspaces (id),
            sequence BIGINT NOT NULL
        );
        CREATE TABLE leases (
            name TEXT PRIMARY KEY,
            holder UUID NOT NULL,
            expires_at BIGINT NOT NULL
        )
        """)
}
