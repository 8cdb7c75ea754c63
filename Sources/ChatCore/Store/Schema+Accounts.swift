extension Schema {
    /// What people have asked for whose address is not confirmed yet, where letters are sent. Nothing refers to it, and
    /// several may name one address; `expires_at` is the link's.
    static let registrations = Step(
        "registrations",
        """
        CREATE TABLE registrations (
            id UUID PRIMARY KEY,
            email TEXT NOT NULL,
            email_key TEXT NOT NULL,
            username {name} NOT NULL UNIQUE,
            display_name TEXT NOT NULL,
            password_hash TEXT NOT NULL,
            invitation_hash BYTEA,
            token_hash BYTEA NOT NULL UNIQUE,
            created_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL
        );
        CREATE INDEX registrations_of_address ON registrations (email_key, created_at, id);
        CREATE INDEX registrations_by_time ON registrations (created_at)
        """)
}
