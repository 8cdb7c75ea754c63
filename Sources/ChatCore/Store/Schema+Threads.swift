extension Schema {
    /// Who follows which thread, and how far they have read it. `last_reply` is the number of its newest answer, in
    /// each row, so that somebody's list is read in its order and its unread part is an index of its own. Who took part
    /// in threads before this step follows them, and has read them.
    static let threadFollowers = Step(
        "thread_followers",
        """
        CREATE TABLE thread_followers (
            thread_id UUID NOT NULL REFERENCES messages (id),
            user_id UUID NOT NULL REFERENCES users (id),
            workspace_id UUID NOT NULL,
            channel_id UUID NOT NULL,
            is_following BIGINT NOT NULL,
            last_read BIGINT NOT NULL,
            last_reply BIGINT NOT NULL,
            PRIMARY KEY (thread_id, user_id)
        );
        INSERT INTO thread_followers (thread_id, user_id, workspace_id, channel_id, is_following, last_read, last_reply)
        SELECT p.id, t.user_id, p.workspace_id, p.channel_id, 1, n.newest, n.newest
        FROM (
            SELECT thread_id, user_id FROM messages WHERE thread_id IS NOT NULL
            UNION SELECT id, user_id FROM messages WHERE reply_count > 0) t
        JOIN messages p ON p.id = t.thread_id
        JOIN (
            SELECT thread_id, MAX(sequence) AS newest FROM messages
            WHERE thread_id IS NOT NULL AND deleted_at IS NULL GROUP BY thread_id) n ON n.thread_id = t.thread_id;
        CREATE INDEX thread_followers_of_user ON thread_followers (user_id, workspace_id, last_reply)
            WHERE is_following = 1;
        CREATE INDEX thread_followers_unread ON thread_followers (user_id, workspace_id)
            WHERE is_following = 1 AND last_reply > last_read
        """)
}
