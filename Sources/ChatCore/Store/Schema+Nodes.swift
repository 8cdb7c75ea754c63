extension Schema {
    /// Which of several servers carries a call's media; nothing for those that a cluster of LiveKit's carries.
    static let nodes = Step(
        "nodes",
        """
        ALTER TABLE calls ADD COLUMN node_id UUID;
        ALTER TABLE calls ADD COLUMN node_url TEXT
        """)
}
