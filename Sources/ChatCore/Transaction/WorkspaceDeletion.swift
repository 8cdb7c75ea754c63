package import ChatModel

/// Deleting a workspace: at once it is there for nobody, and what it had is taken away in parts, for there may be a
/// million messages.
extension ChatTransaction {
    /// Deletes a workspace.
    ///
    /// - Parameter slug: its address, which whoever asks has typed once more.
    package func deleteWorkspace(_ id: WorkspaceID, confirmedBy slug: String, by user: UserID) throws {
        try demand(.deleteWorkspace, in: id, by: user)
        guard try workspace(id, for: user).workspace.slug == slug else {
            throw ChatError.invalid("slug", "Name the workspace's address (slug) to delete it.")
        }
        try deleteWorkspace(id)
    }

    /// The same without asking whether anybody may. Calls that go on end, everybody is told, and with the membership of
    /// all goes all that they may: no rule has to know of workspaces that are deleted.
    package func deleteWorkspace(_ id: WorkspaceID) throws {
        try lock(id)
        // Two may ask for it at once.
        guard try !isDeleted(id) else { throw ChatError.notFound("workspace") }
        let channels: [ChannelID] = try session.rows(
            "SELECT channel_id FROM calls WHERE workspace_id = $1 AND ended_at IS NULL ORDER BY id", .id(id)
        ).map {
            var row = $0
            return try row.id()
        }
        for channel in channels { try endCalls(in: channel) }
        try append(.workspaceDeleted(WorkspaceDeletion(workspaceID: id)), to: .everybody, in: id)
        for var row in try session.rows("SELECT user_id FROM members WHERE workspace_id = $1", .id(id)) {
            changes.relieved.insert(try row.id())
        }
        try session.run("DELETE FROM members WHERE workspace_id = $1", .id(id))
        try session.run(
            "DELETE FROM invitation_channels WHERE invitation_id IN (SELECT id FROM invitations WHERE workspace_id = $1)",
            .id(id))
        try session.run("DELETE FROM invitations WHERE workspace_id = $1", .id(id))
        // No address has a full stop: its own is free again.
        try session.run(
            "UPDATE workspaces SET name = '', slug = $2, updated_at = $3, deleted_at = $3 WHERE id = $1", .id(id),
            .text(".\(id)"), .time(now))
        try session.run(
            """
            INSERT INTO workspace_leftovers (workspace_id, source)
            VALUES ($1, (SELECT source FROM imports WHERE kind = 'workspace' AND id = $1))
            """, .id(id))
        changes.hasDeletedWorkspaces = true
    }

    func isDeleted(_ workspace: WorkspaceID) throws -> Bool {
        try session.row("SELECT 1 FROM workspaces WHERE id = $1 AND deleted_at IS NOT NULL", .id(workspace)) != nil
    }

    /// Whether what was imported of a file belongs to a workspace of which there are leftovers.
    func isBeingTakenAway(importOf source: String) throws -> Bool {
        try session.row("SELECT 1 FROM workspace_leftovers WHERE source = $1", .text(source)) != nil
    }

    // MARK: Leftovers

    /// Takes a part of what deleted workspaces have left away. What a server that ends has not done, the next does.
    ///
    /// - Parameter count: of rows of one table, at most.
    /// - Returns: whether there may be more.
    package func takeAwayWorkspaceLeftovers(atMost count: Int = 500) throws -> Bool {
        guard
            var row = try session.row(
                "SELECT workspace_id, source FROM workspace_leftovers ORDER BY workspace_id LIMIT 1")
        else { return false }
        let workspace: WorkspaceID = try row.id()
        let source = try row.textOrNull()
        try lock(workspace)
        if var row = try session.row("SELECT id FROM channels WHERE workspace_id = $1 LIMIT 1", .id(workspace)) {
            try takeAway(try row.id(), atMost: count)
            return true
        }
        if try takeAwayEvents(of: workspace, atMost: count) > 0 { return true }
        if let source, try takeAwayImports(of: source, atMost: count) > 0 { return true }
        try session.run("DELETE FROM push_positions WHERE workspace_id = $1", .id(workspace))
        try session.run("DELETE FROM workspace_leftovers WHERE workspace_id = $1", .id(workspace))
        return true
    }

    /// A part of a channel's messages; the channel, where there are none.
    private func takeAway(_ channel: ChannelID, atMost count: Int) throws {
        // In the order of an index, so that no part looks at what was deleted by those before it.
        let ids = try session.rows(
            "SELECT id FROM messages WHERE channel_id = $1 ORDER BY user_id, client_id LIMIT $2", .id(channel),
            .integer(count)
        ).map {
            var row = $0
            return SQLValue.id(try row.id() as MessageID)
        }
        guard !ids.isEmpty else { return try takeAwayEmpty(channel) }
        let list = ids.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        for table in ["mentions", "reactions"] {
            try session.run("DELETE FROM \(table) WHERE message_id IN (\(list))", ids)
        }
        try session.run("DELETE FROM thread_followers WHERE thread_id IN (\(list))", ids)
        let files = try session.run(
            "INSERT INTO file_leftovers (id) SELECT id FROM files WHERE message_id IN (\(list)) ON CONFLICT DO NOTHING",
            ids)
        if files > 0 { changes.hasLeftovers = true }
        try session.run("DELETE FROM files WHERE message_id IN (\(list))", ids)
        try session.run(
            "DELETE FROM call_participants WHERE call_id IN (SELECT id FROM calls WHERE message_id IN (\(list)))", ids)
        try session.run("DELETE FROM calls WHERE message_id IN (\(list))", ids)
        try session.run("DELETE FROM messages WHERE id IN (\(list))", ids)
    }

    private func takeAwayEmpty(_ channel: ChannelID) throws {
        for var row in try session.rows(
            "SELECT id, user_id FROM files WHERE channel_id = $1 AND is_avatar = 1", .id(channel))
        {
            try moveAvatar(try row.id(), of: try row.id())
        }
        let uploads = try session.run(
            """
            INSERT INTO file_leftovers (id, handle) SELECT id, handle FROM uploads WHERE channel_id = $1
            ON CONFLICT DO NOTHING
            """, .id(channel))
        let files = try session.run(
            "INSERT INTO file_leftovers (id) SELECT id FROM files WHERE channel_id = $1 ON CONFLICT DO NOTHING",
            .id(channel))
        if uploads + files > 0 { changes.hasLeftovers = true }
        for table in ["uploads", "files", "declined_calls", "channel_members"] {
            try session.run("DELETE FROM \(table) WHERE channel_id = $1", .id(channel))
        }
        try session.run("DELETE FROM channels WHERE id = $1", .id(channel))
    }

    /// A picture that somebody shows as themselves was sent into some channel: now it is of another one of theirs. Who
    /// is nowhere any more has none.
    private func moveAvatar(_ file: FileID, of user: UserID) throws {
        guard
            var row = try session.row(
                """
                SELECT c.workspace_id, c.id FROM channel_members cm JOIN channels c ON c.id = cm.channel_id
                JOIN members m ON m.workspace_id = c.workspace_id AND m.user_id = cm.user_id
                WHERE cm.user_id = $1 ORDER BY c.id LIMIT 1
                """, .id(user))
        else {
            try session.run(
                "UPDATE users SET avatar_id = NULL, updated_at = $3 WHERE id = $1 AND avatar_id = $2", .id(user),
                .id(file), .time(now))
            return
        }
        try session.run(
            "UPDATE files SET workspace_id = $2, channel_id = $3 WHERE id = $1", .id(file),
            .id(try row.id() as WorkspaceID), .id(try row.id() as ChannelID))
    }

    /// All but the last, which says that the workspace is deleted: another server may not have passed it on.
    private func takeAwayEvents(of workspace: WorkspaceID, atMost count: Int) throws -> Int {
        try session.run(
            """
            DELETE FROM events WHERE workspace_id = $1 AND sequence < $2
                AND sequence < (SELECT MIN(sequence) + $3 FROM events WHERE workspace_id = $1)
            """, .id(workspace), .integer(try sequence(of: workspace)), .integer(count))
    }

    private func takeAwayImports(of source: String, atMost count: Int) throws -> Int {
        try session.run(
            """
            DELETE FROM imports WHERE source = $1 AND (kind, key) IN (
                SELECT kind, key FROM imports WHERE source = $1 ORDER BY kind, key LIMIT $2)
            """, .text(source), .integer(count))
    }
}
