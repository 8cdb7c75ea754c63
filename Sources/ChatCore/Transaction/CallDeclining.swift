internal import ChatModel

/// Nobody is rung again and again by a channel in which they have said no, nor by
/// one person who hangs up first.
extension ChatTransaction {
    /// Whoever has declined as often within the time below is not rung: once more is insisting, and enough of it.
    private static let mostDeclined = 2
    private static let quiet = Duration.seconds(60)

    func noteDecline(by user: UserID, in channel: ChannelID) throws {
        try session.run(
            "DELETE FROM declined_calls WHERE user_id = $1 AND channel_id = $2 AND declined_at <= $3", .id(user),
            .id(channel), .time(now.advanced(by: .zero - Self.quiet)))
        try session.run(
            "INSERT INTO declined_calls (channel_id, user_id, declined_at) VALUES ($1, $2, $3)", .id(channel),
            .id(user), .time(now))
    }

    /// Those of these people who may be rung. Others are left out, as if they had not been named.
    ///
    /// - Throws: `ChatError` where nobody is left.
    func withoutDecliners(_ people: [UserID], in channel: ChannelID) throws -> [UserID] {
        let since = now.advanced(by: .zero - Self.quiet)
        var wait = Duration.zero
        let left = try people.filter { person in
            let rows = try session.rows(
                """
                SELECT declined_at FROM declined_calls WHERE user_id = $1 AND channel_id = $2 AND declined_at > $3
                ORDER BY declined_at DESC LIMIT $4
                """, .id(person), .id(channel), .time(since), .integer(Self.mostDeclined))
            guard rows.count == Self.mostDeclined, var row = rows.last else { return true }
            wait = max(wait, try row.time() - since)
            return false
        }
        guard !left.isEmpty || people.isEmpty else {
            throw ChatError(
                .tooMany(retryAfter: wait), code: "declined",
                "They have been called twice just now, and have said no or were not waited for. Try again in a minute.")
        }
        return left
    }
}
