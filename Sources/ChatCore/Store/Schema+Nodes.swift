extension Schema {
    /// Which of several servers carries a call's media; nothing for those that a cluster of LiveKit's carries.
    static let nodes = Step(
        "nodes",
        """
        ALTER TABLE calls ADD COLUMN node_id UUID;
        ALTER TABLE calls ADD COLUMN node_url TEXT;
        CREATE INDEX calls_of_node ON calls (node_id, ended_at) WHERE node_id IS NOT NULL
        """)
}
