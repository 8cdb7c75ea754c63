extension Schema {
    /// What imports have made of what they were given, so that none makes it twice. `source` is a file.
    static let imports = Step(
        "imports",
        """
        CREATE TABLE imports (
            source TEXT NOT NULL,
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            id UUID NOT NULL,
            PRIMARY KEY (source, kind, key)
        )
        """)
}
