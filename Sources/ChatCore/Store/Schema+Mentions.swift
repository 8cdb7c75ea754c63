extension Schema {
    /// Whom `@here` has called, for they were there when it was written: 0 for who is only named, 1 for who is only
    /// called, 2 for who is both. Of an `@here` from before this step nobody knows who was there: it called everybody,
    /// and still calls those who have not read it.
    static let mentionsByHere = Step(
        "mentions_by_here",
        """
        ALTER TABLE mentions ADD COLUMN by_here BIGINT NOT NULL DEFAULT 0;
        INSERT INTO mentions (message_id, user_id, channel_id, thread_id, sequence, by_here)
        SELECT m.id, cm.user_id, m.channel_id, m.thread_id, m.sequence, 1
        FROM messages m JOIN channel_members cm ON cm.channel_id = m.channel_id
        WHERE m.mentions_channel + m.mentions_here > 0 AND m.mentions_here = 1 AND m.mentions_channel = 0
            AND m.thread_id IS NULL AND m.sequence > cm.last_read AND m.deleted_at IS NULL AND m.user_id <> cm.user_id
        ON CONFLICT (message_id, user_id) DO UPDATE SET by_here = 2
        """)
}
