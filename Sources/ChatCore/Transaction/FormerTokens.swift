internal import ChatModel

/// Refresh tokens of the past. Each refresh leaves one, so something has to take them away again, also of sessions that
/// nobody comes back to.
extension ChatTransaction {
    /// Takes away those of sessions that are over, those that are older than a session lives unused, and of each
    /// session those beyond `Limits.formerTokens`, the oldest first. A part of them, so that nobody waits for long.
    ///
    /// - Returns: whether there may be more.
    package func sweepFormerTokens(atMost count: Int = 1_000) throws -> Bool {
        let ofOver = try session.run(
            """
            DELETE FROM former_tokens WHERE token_hash IN (
                SELECT f.token_hash FROM sessions s JOIN former_tokens f ON f.session_id = s.id
                WHERE s.ended_at IS NOT NULL OR s.expires_at <= $1 LIMIT $2)
            """, .time(now), .integer(count))
        let old = try session.run(
            """
            DELETE FROM former_tokens WHERE token_hash IN (
                SELECT token_hash FROM former_tokens WHERE rotated_at < $1 LIMIT $2)
            """, .time(now.advanced(by: .zero - lifetimes.session)), .integer(count))
        // Of all sessions that are left, which is a look through the whole index.
        guard ofOver < count, old < count else { return true }
        let crowded = try session.rows(
            """
            SELECT session_id FROM former_tokens GROUP BY session_id HAVING COUNT(*) > $1
            ORDER BY session_id LIMIT $2
            """, .integer(limits.formerTokens), .integer(Self.sessionsAtOnce))
        for var row in crowded {
            let id: SessionID = try row.id()
            try session.run(
                """
                DELETE FROM former_tokens WHERE session_id = $1 AND rotated_at <= (
                    SELECT rotated_at FROM former_tokens WHERE session_id = $1
                    ORDER BY rotated_at DESC LIMIT 1 OFFSET $2)
                """, .id(id), .integer(limits.formerTokens))
        }
        return crowded.count == Self.sessionsAtOnce
    }

    private static let sessionsAtOnce = 20
}
