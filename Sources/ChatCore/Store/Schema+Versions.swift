extension Schema {
    /// How often what two people, or two devices of one, may change at the same time was changed: its `ETag`.
    static let versions = Step(
        "versions",
        """
        ALTER TABLE workspaces ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
        ALTER TABLE notification_settings ADD COLUMN version BIGINT NOT NULL DEFAULT 1
        """)
}
