package import ChatModel

/// Finding messages by their words.
extension ChatTransaction {
    /// What else a message has to be.
    package struct SearchFilter: Sendable {
        package enum Feature: String, Sendable, CaseIterable { case link, file, reaction, pin, thread }

        package var channel: ChannelID?
        package var author: UserID?
        package var before: Timestamp?
        package var after: Timestamp?
        package var features: Set<Feature> = []

        package init() {}
    }

    /// Of the newest messages that are looked for, so many, the best are shown first.
    private static let mostRanked = 2_000

    /// Messages of a workspace that somebody may read, the best first. `SearchQuery.results` shows where it was found,
    /// for which nobody has to keep a transaction open.
    package func search(
        _ query: SearchQuery, _ filter: SearchFilter, in workspace: WorkspaceID, by user: UserID,
        after cursor: Cursor? = nil, limit: Int? = nil
    ) throws -> Page<Message> {
        let role = try demandToRead(.seeWorkspace, in: workspace, by: user)
        if let channel = filter.channel { try demandToRead(.readChannel, in: channel, by: user) }
        let (limit, place) = (pageLength(limit), try cursor.map { try $0.position() })
        let skipped = place?.skipped ?? 0
        guard skipped <= Self.mostRanked else { return Page([]) }
        // What comes in meanwhile would shift the pages.
        let newest = try place.map { $0.newest ?? .max } ?? sequence(of: workspace)
        var conditions = [
            "m.workspace_id = $2", "m.deleted_at IS NULL",
            "(cm.user_id IS NOT NULL OR c.kind = 'public' AND $4 = 1)",
        ]
        var arguments: [SQLValue] = [
            .text(session.dialect == .sqlite ? query.fts5(in: workspace) : query.tsquery), .id(workspace), .id(user),
            .flag(role != .guest),
        ]
        func demand(_ condition: String, _ value: SQLValue) {
            arguments.append(value)
            conditions.append(condition.replacing("$?", with: "$\(arguments.count)"))
        }
        if let channel = filter.channel { demand("m.channel_id = $?", .id(channel)) }
        if let author = filter.author { demand("m.user_id = $?", .id(author)) }
        if let before = filter.before { demand("m.created_at < $?", .time(before)) }
        if let after = filter.after { demand("m.created_at >= $?", .time(after)) }
        if place != nil { demand("m.sequence <= $?", .integer(newest)) }
        for feature in filter.features.sorted(by: { $0.rawValue < $1.rawValue }) {
            switch feature {
            case .link: conditions.append("(lower(m.content) LIKE '%http://%' OR lower(m.content) LIKE '%https://%')")
            case .file: conditions.append("EXISTS (SELECT 1 FROM files f WHERE f.message_id = m.id)")
            case .reaction: conditions.append("EXISTS (SELECT 1 FROM reactions r WHERE r.message_id = m.id)")
            case .pin: conditions.append("m.pinned_at IS NOT NULL")
            case .thread: conditions.append("(m.thread_id IS NOT NULL OR m.reply_count > 0)")
            }
        }
        arguments += [.integer(limit + 1), .integer(skipped)]
        let rows = try session.rows(
            Self.searchSQL(session.dialect, conditions, limit: arguments.count - 1), arguments)
        let found = try rows.prefix(limit).map { row -> MessageID in
            var row = row
            return try row.id()
        }
        return Page(
            try messages(found),
            after: rows.count > limit ? Cursor(skipped: skipped + Int64(limit), upTo: newest) : nil)
    }

    private static func searchSQL(_ dialect: SQLDialect, _ conditions: [String], limit: Int) -> String {
        let joins = """
            JOIN channels c ON c.id = m.channel_id
            LEFT JOIN channel_members cm ON cm.channel_id = m.channel_id AND cm.user_id = $3
            WHERE \(conditions.joined(separator: " AND "))
            """
        let page = "LIMIT $\(limit) OFFSET $\(limit + 1)"
        switch dialect {
        case .sqlite:
            // bm25 is the smaller the better (https://sqlite.org/fts5.html, "Auxiliary Functions"), and knows only the
            // rows of a query that reads the words itself. CROSS JOIN: SQLite is to begin with the words.
            return """
                SELECT b.id FROM (
                    SELECT m.id, m.sequence, bm25(message_words, 1.0, 0.0) AS score
                    FROM message_words CROSS JOIN messages m ON m.row = message_words.rowid \(joins)
                        AND message_words MATCH $1 ORDER BY message_words.rowid DESC LIMIT \(mostRanked)) b
                ORDER BY b.score, b.sequence DESC \(page)
                """
        case .postgres:
            return """
                SELECT b.id FROM (
                    SELECT m.id, m.words, m.sequence FROM messages m \(joins)
                        AND m.words @@ to_tsquery('simple', $1) ORDER BY m.sequence DESC LIMIT \(mostRanked)) b
                ORDER BY ts_rank(b.words, to_tsquery('simple', $1)) DESC, b.sequence DESC \(page)
                """
        }
    }
}
