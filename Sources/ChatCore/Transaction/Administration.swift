package import ChatModel

/// What whoever runs the machine does with its chat. Nobody is asked whether they may: who can open the database may do
/// anything with it.
extension ChatTransaction {
    /// All accounts by username, in pages.
    ///
    /// - Parameter username: of the last one of the page before.
    package func accounts(after username: String = "", limit: Int = 500) throws -> [Account] {
        try session.rows(
            """
            SELECT \(Self.profileColumns), u.email, u.email_verified_at, u.is_server_owner FROM users u
            WHERE u.username > $1 ORDER BY u.username LIMIT $2
            """, .text(username), .integer(limit)
        ).map {
            var row = $0
            return Account(
                profile: try Self.profile(&row), email: try row.text(),
                isEmailVerified: try row.integerOrNull() != nil, isServerOwner: try row.flag())
        }
    }

    /// Who has a username or an address, also when they have left.
    package func user(named name: String) throws -> UserID {
        guard
            var row = try session.row(
                "SELECT id FROM users WHERE email_key = $1 OR username = $1", .text(name.lowercased()))
        else { throw ChatError.notFound("user") }
        return try row.id()
    }

    /// A workspace by its address or its identifier.
    package func workspace(named name: String) throws -> Workspace {
        let id = WorkspaceID(name).map { SQLValue.id($0) } ?? .null
        guard
            var row = try session.row(
                "SELECT \(Self.workspaceColumns) FROM workspaces w WHERE (w.slug = $1 OR w.id = $2) AND w.deleted_at IS NULL",
                .text(name.lowercased()), id)
        else { throw ChatError.notFound("workspace") }
        return try Self.workspace(&row)
    }

    /// A workspace, and how large it is.
    package struct WorkspaceEntry: Sendable, Equatable {
        package let workspace: Workspace
        package let members: Int
        package let channels: Int
        /// Those that are deleted are none.
        package let messages: Int
    }

    /// All workspaces, by their addresses.
    package func allWorkspaces() throws -> [WorkspaceEntry] {
        try session.rows(
            """
            SELECT \(Self.workspaceColumns),
                (SELECT COUNT(*) FROM members m WHERE m.workspace_id = w.id),
                (SELECT COUNT(*) FROM channels c WHERE c.workspace_id = w.id),
                (SELECT COUNT(*) FROM messages s WHERE s.workspace_id = w.id AND s.deleted_at IS NULL)
            FROM workspaces w WHERE w.deleted_at IS NULL ORDER BY w.slug
            """
        ).map {
            var row = $0
            return WorkspaceEntry(
                workspace: try Self.workspace(&row), members: try row.int(), channels: try row.int(),
                messages: try row.int())
        }
    }

    /// Lets somebody who has left come back, into the workspaces that they were in. Their sessions stay over.
    package func reactivate(_ user: UserID) throws {
        try session.run(
            "UPDATE users SET deactivated_at = NULL, updated_at = $2 WHERE id = $1", .id(user), .time(now))
        try tellWorkspaces(of: user)
    }

    /// Makes somebody an owner of the server. Who is one stays so.
    package func makeServerOwner(_ user: UserID) throws {
        try requireActive(user)
        try session.run("UPDATE users SET is_server_owner = 1, updated_at = $2 WHERE id = $1", .id(user), .time(now))
    }

    /// Makes somebody an owner of a workspace, in which they need not have been: its owners may all be gone.
    package func makeOwner(_ user: UserID, of workspace: WorkspaceID) throws {
        try requireActive(user)
        try lock(workspace)
        guard let role = try role(of: user, in: workspace) else {
            return try insertMember(user, as: .owner, into: workspace)
        }
        guard role != .owner else { return }
        try session.run(
            "UPDATE members SET role = $3 WHERE workspace_id = $1 AND user_id = $2", .id(workspace), .id(user),
            .name(Role.owner))
        try append(.memberUpdated(try member(user, of: workspace)), to: .about(user), in: workspace)
    }

    /// In whose name an invitation is that nobody of the workspace has made.
    package func anyOwner(of workspace: WorkspaceID) throws -> UserID {
        guard
            var row = try session.row(
                """
                SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id
                WHERE m.workspace_id = $1 AND m.role = 'owner' AND u.deactivated_at IS NULL
                ORDER BY m.joined_at, m.user_id LIMIT 1
                """, .id(workspace))
        else { throw AdministrationFault.noOwner }
        return try row.id()
    }

    /// Whether nobody who has not left owns a workspace.
    package func isWithoutOwner(_ workspace: WorkspaceID) throws -> Bool {
        do {
            _ = try anyOwner(of: workspace)
            return false
        } catch AdministrationFault.noOwner {
            return true
        }
    }

    /// A channel by its name.
    package func channel(named name: String, in workspace: WorkspaceID) throws -> ChannelID {
        guard
            var row = try session.row(
                "SELECT id FROM channels WHERE workspace_id = $1 AND name = $2", .id(workspace),
                .text(Texts.channelKey(name)))
        else { throw ChatError.notFound("channel") }
        return try row.id()
    }

    /// Puts somebody of a workspace into a private channel that nobody is in any more, for who could bring them in, and
    /// opens it again. The same where it is archived, and none of those who are in it may open it: whoever was in it
    /// last had left the server when it was closed, and has come back.
    package func reopenChannel(_ id: ChannelID, for user: UserID) throws {
        try requireActive(user)
        let workspace = try channel(id).workspaceID
        try lock(workspace)
        guard try role(of: user, in: workspace) != nil else { throw ChatError.notFound("member") }
        let channel = try channel(id)
        guard channel.kind == .private else { throw AdministrationFault.notAbandoned }
        let isAnybody = try isAnybody(in: id)
        if isAnybody {
            guard channel.isArchived, try !isAnybodyToRestore(channel) else { throw AdministrationFault.notAbandoned }
        }
        if channel.isArchived { try writeArchived(false, id) }
        if isAnybody { try append(.channelUpdated(try self.channel(id)), to: .channel(id), in: workspace) }
        guard try place(in: id, of: user).standing.channel?.isMember != true else { return }
        try put(user, into: id, in: workspace)
    }

    /// Whether somebody who is in an archived channel, and has not left the server, may open it again.
    private func isAnybodyToRestore(_ channel: Channel) throws -> Bool {
        for user in try members(of: channel.id) where try !profile(of: user).isDeactivated {
            let standing = try place(in: channel.id, of: user).standing
            if Permission.restoreChannel.rule.verdict(on: standing) == .allowed { return true }
        }
        return false
    }

    /// - Throws: `AdministrationFault` for somebody who has left the server.
    package func requireActive(_ user: UserID) throws {
        guard try !profile(of: user).isDeactivated else {
            throw AdministrationFault.hasLeft
        }
    }
}

/// Why something was not done that nobody but an administrator asks for.
package enum AdministrationFault: Error, Equatable, CustomStringConvertible {
    case noOwner
    case hasLeft
    case notAbandoned

    package var description: String {
        switch self {
        case .noOwner: "This workspace has no owner: make somebody its owner first."
        case .hasLeft: "They have left the server: reactivate them first."
        case .notAbandoned:
            "This is no private channel that nobody is in: who is in it brings others in, or opens it again."
        }
    }
}
