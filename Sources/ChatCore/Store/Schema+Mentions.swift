extension Schema {
    /// Whom `@here` has called: they were there when it was written, and are not named besides.
    static let mentionsByHere = Step(
        "mentions_by_here",
        "ALTER TABLE mentions ADD COLUMN by_here BIGINT NOT NULL DEFAULT 0")
}
