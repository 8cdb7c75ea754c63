extension Schema {
    /// What finds how many conversations somebody has begun.
    static let conversations = Step(
        "conversations",
        """
        CREATE INDEX conversations_by_creator ON channels (workspace_id, created_by) WHERE people_key IS NOT NULL
        """)
}
