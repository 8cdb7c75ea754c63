extension Schema {
    /// What processes that serve nobody have left for a server to do, as JSON, and what finds old refresh tokens.
    static let leftChanges = Step(
        "left_changes",
        """
        CREATE TABLE left_changes (
            number {serial},
            data TEXT NOT NULL,
            created_at BIGINT NOT NULL
        );
        CREATE INDEX former_tokens_by_time ON former_tokens (rotated_at)
        """)
}
