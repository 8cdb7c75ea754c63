package import ChatModel

/// Workspaces and who is in them.
extension ChatTransaction {
    static let workspaceColumns = "w.id, w.name, w.slug, w.created_at, w.updated_at"

    static func workspace(_ row: inout SQLRow) throws -> Workspace {
        Workspace(
            id: try row.id(), name: try row.text(), slug: try row.text(), createdAt: try row.time(),
            updatedAt: try row.time())
    }

    func role(of user: UserID, in workspace: WorkspaceID) throws -> Role? {
        guard
            var row = try session.row(
                "SELECT role FROM members WHERE workspace_id = $1 AND user_id = $2", .id(workspace), .id(user))
        else { return nil }
        return try row.name()
    }

    /// Throws unless somebody may do this in the workspace. Of what is written afterwards it stays true.
    @discardableResult
    func demand(_ permission: Permission, in workspace: WorkspaceID, by user: UserID) throws -> Role {
        try lock(workspace)
        return try demandToRead(permission, in: workspace, by: user)
    }

    /// The same, for what writes nothing.
    @discardableResult
    func demandToRead(_ permission: Permission, in workspace: WorkspaceID, by user: UserID) throws -> Role {
        let role = try role(of: user, in: workspace)
        try permission.check(Standing(role: role), of: "workspace")
        guard let role else { throw ChatError.notFound("workspace") }
        return role
    }

    /// Makes a workspace with its first channel, `general`; who makes it owns it.
    ///
    /// - Parameters:
    ///   - slug: nil for one made of the name.
    ///   - isOpen: whether anybody may make an account on this server; otherwise only its owners make workspaces.
    package func createWorkspace(
        name: String, slug: String?, by user: UserID, whereOpen isOpen: Bool = true
    ) throws -> (listing: WorkspaceListing, channel: Channel) {
        let server = ServerStanding(isOwner: try account(of: user).isServerOwner, isOpen: isOpen)
        try Permission.createWorkspace.check(Standing(role: nil, server: server), of: "workspace")
        let name = try Texts.workspaceName(name, limits)
        guard try workspaceIDs(of: user).count < limits.workspacesOfUser else {
            throw ChatError.conflict(
                "too_many_workspaces", "Nobody is in more than \(limits.workspacesOfUser) workspaces.")
        }
        let id: WorkspaceID = makeID()
        let wanted = try slug.map { try Texts.slug($0, limits) } ?? Self.slug(of: name, id)
        let isMade = try session.run(
            """
            INSERT INTO workspaces (id, name, slug, sequence, created_at, updated_at) VALUES ($1, $2, $3, 0, $4, $4)
            ON CONFLICT (slug) DO NOTHING
            """, .id(id), .text(name), .text(wanted), .time(now))
        guard isMade == 1 else {
            guard slug == nil else {
                throw ChatError.conflict("slug_taken", "This address is taken by another workspace.", field: "slug")
            }
            // Whoever did not choose it does not mind what it is.
            return try createWorkspace(
                name: name, slug: Self.slug(of: "w", makeID() as WorkspaceID), by: user, whereOpen: isOpen)
        }
        try insertMember(user, as: .owner, into: id)
        let channel = try insertChannel(.public, name: "general", people: [user], in: id, by: user)
        return (try workspace(id, for: user), channel)
    }

    /// What can be of a name in an address, or of an identifier where nothing can.
    static func slug(of name: String, _ id: WorkspaceID) -> String {
        var slug = ""
        for byte in name.lowercased().utf8.prefix(24) {
            if Texts.isLetterOrDigit(byte) {
                slug.append(Character(Unicode.Scalar(byte)))
            } else if !slug.isEmpty, !slug.hasSuffix("-") {
                slug.append("-")
            }
        }
        while slug.hasSuffix("-") { slug.removeLast() }
        return slug.utf8.count >= 2 ? slug : "w-\(id.description.suffix(12))"
    }

    /// The workspaces that somebody is in, by name.
    package func workspaces(of user: UserID) throws -> [WorkspaceListing] {
        try session.rows("\(Self.listingsOfUser) ORDER BY w.name, w.id", .id(user)).map {
            var row = $0
            return try Self.listing(&row)
        }
    }

    private static let listingsOfUser = """
        SELECT \(workspaceColumns), m.role, w.sequence, \(unreadThreadsOfWorkspace) FROM members m
        JOIN workspaces w ON w.id = m.workspace_id WHERE m.user_id = $1
        """

    private static func listing(_ row: inout SQLRow) throws -> WorkspaceListing {
        WorkspaceListing(
            workspace: try workspace(&row), role: try row.name(), sequence: try row.integer(),
            unreadThreads: try row.int())
    }

    package func workspace(_ id: WorkspaceID, for user: UserID) throws -> WorkspaceListing {
        try demandToRead(.seeWorkspace, in: id, by: user)
        guard var row = try session.row("\(Self.listingsOfUser) AND w.id = $2", .id(user), .id(id)) else {
            throw ChatError.notFound("workspace")
        }
        return try Self.listing(&row)
    }

    /// Grows with each change of a workspace's own words.
    package func version(of workspace: WorkspaceID) throws -> Int64 {
        guard var row = try session.row("SELECT version FROM workspaces WHERE id = $1", .id(workspace)) else {
            throw ChatError.notFound("workspace")
        }
        return try row.integer()
    }

    /// - Parameter version: of the workspace that whoever asks has seen; nil to change whatever is there.
    package func renameWorkspace(
        _ id: WorkspaceID, to name: String, ifVersion version: Int64? = nil, by user: UserID
    ) throws -> WorkspaceListing {
        try demand(.changeWorkspace, in: id, by: user)
        let name = try Texts.workspaceName(name, limits)
        if let version, try version != self.version(of: id) { throw ChatError.outdated }
        try session.run(
            "UPDATE workspaces SET name = $2, updated_at = $3, version = version + 1 WHERE id = $1", .id(id),
            .text(name), .time(now))
        let listing = try workspace(id, for: user)
        try append(.workspaceUpdated(listing.workspace), to: .everybody, in: id)
        return listing
    }

    // MARK: Members

    /// Who has not left the server.
    func memberCount(of workspace: WorkspaceID) throws -> Int {
        guard
            var row = try session.row(
                """
                SELECT COUNT(*) FROM members m JOIN users u ON u.id = m.user_id
                WHERE m.workspace_id = $1 AND u.deactivated_at IS NULL
                """, .id(workspace))
        else { return 0 }
        return try row.int()
    }

    /// Owners who have left the server are none to rely on.
    func isLastOwner(_ user: UserID, of workspace: WorkspaceID) throws -> Bool {
        let owners: [UserID] = try session.rows(
            """
            SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id
            WHERE m.workspace_id = $1 AND m.role = 'owner' AND u.deactivated_at IS NULL
            """, .id(workspace)
        ).map {
            var row = $0
            return try row.id()
        }
        return owners == [user]
    }

    func insertMember(_ user: UserID, as role: Role, into workspace: WorkspaceID) throws {
        try session.run(
            "INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)", .id(workspace),
            .id(user), .name(role), .time(now))
        changes.arrivals.insert(user)
        let member = Member(user: try profile(of: user), role: role, joinedAt: now)
        try append(.memberJoined(member), to: .about(user), in: workspace)
    }

    /// Who is in a workspace, by username; of guests only those they share a channel with, and of these to guests only
    /// the same.
    ///
    /// - Parameters:
    ///   - cursor: where the page before ended.
    ///   - prefix: of usernames or names, for whoever types one; empty for all.
    package func members(
        of workspace: WorkspaceID, for user: UserID, startingWith prefix: String = "", after cursor: Cursor? = nil,
        limit: Int? = nil
    ) throws -> Page<Member> {
        let role = try demandToRead(.seeWorkspace, in: workspace, by: user)
        let limit = pageLength(limit)
        let start = try cursor.map { try $0.name() } ?? ""
        // No name is as long, and none has a NUL.
        guard prefix.utf8.count <= 4 * limits.displayNameLength, !prefix.utf8.contains(0) else { return Page([]) }
        let rows = try session.rows(
            """
            SELECT \(Self.profileColumns), m.role, m.joined_at FROM members m JOIN users u ON u.id = m.user_id
            WHERE m.workspace_id = $1 AND u.username > $2
                AND (u.username LIKE $3 ESCAPE '!' OR u.display_key LIKE $3 ESCAPE '!')
                AND ($4 = 1 OR u.id = $5 OR EXISTS (
                    SELECT 1 FROM channel_members a JOIN channel_members b ON b.channel_id = a.channel_id
                    JOIN channels c ON c.id = a.channel_id
                    WHERE a.user_id = $5 AND b.user_id = u.id AND c.workspace_id = $1))
            ORDER BY u.username LIMIT $6
            """, .id(workspace), .text(start), .text(Self.like(prefix.lowercased())), .flag(role != .guest), .id(user),
            .integer(limit + 1))
        let members = try rows.prefix(limit).map {
            var row = $0
            return Member(user: try Self.profile(&row), role: try row.name(), joinedAt: try row.time())
        }
        return Page(
            members, after: rows.count > limit ? members.last.map { Cursor(name: $0.user.username) } : nil)
    }

    /// What begins with this, for `LIKE … ESCAPE '!'`.
    static func like(_ prefix: String) -> String {
        prefix.replacing("!", with: "!!").replacing("%", with: "!%").replacing("_", with: "!_") + "%"
    }

    package func changeRole(
        of member: UserID, in workspace: WorkspaceID, to role: Role, by user: UserID
    ) throws -> Member {
        let own = try demand(.changeRoles, in: workspace, by: user)
        guard let former = try self.role(of: member, in: workspace) else { throw ChatError.notFound("member") }
        guard own.manages(former), own.invites(as: role) else { throw ChatError(.role) }
        if former == .owner, role != .owner, try isLastOwner(member, of: workspace) { throw ChatError.lastOwner }
        guard try !profile(of: member).isDeactivated else { throw ChatError.notFound("member") }
        try revokeInvitations(of: member, as: Role.allCases.filter { !role.invites(as: $0) }, to: workspace)
        try session.run(
            "UPDATE members SET role = $3 WHERE workspace_id = $1 AND user_id = $2", .id(workspace), .id(member),
            .name(role))
        let changed = try self.member(member, of: workspace)
        try append(.memberUpdated(changed), to: .about(member), in: workspace)
        return changed
    }

    func member(_ member: UserID, of workspace: WorkspaceID) throws -> Member {
        guard
            var row = try session.row(
                """
                SELECT \(Self.profileColumns), m.role, m.joined_at FROM members m JOIN users u ON u.id = m.user_id
                WHERE m.workspace_id = $1 AND m.user_id = $2
                """, .id(workspace), .id(member))
        else { throw ChatError.notFound("member") }
        return Member(user: try Self.profile(&row), role: try row.name(), joinedAt: try row.time())
    }

    /// Takes somebody out of a workspace and its channels; anybody may go themselves.
    package func removeMember(_ member: UserID, from workspace: WorkspaceID, by user: UserID) throws {
        let own = try demand(member == user ? .seeWorkspace : .removeMembers, in: workspace, by: user)
        guard let role = try role(of: member, in: workspace) else { throw ChatError.notFound("member") }
        if member != user, !own.manages(role) { throw ChatError(.role) }
        if role == .owner, try isLastOwner(member, of: workspace) { throw ChatError.lastOwner }
        let channels: [ChannelID] = try session.rows(
            """
            SELECT c.id FROM channels c JOIN channel_members m ON m.channel_id = c.id
            WHERE c.workspace_id = $1 AND m.user_id = $2 AND c.people_key IS NULL ORDER BY c.id
            """, .id(workspace), .id(member)
        ).map {
            var row = $0
            return try row.id()
        }
        // Asked while they still share a channel.
        var guests = try self.guests(of: workspace, sharingWith: member)
        if role == .guest { guests.insert(member) }
        try leaveCalls(of: member, where: "c.workspace_id = $2", .id(workspace))
        for channel in channels { try takeOut(member, of: try self.channel(channel), in: workspace) }
        // Told while they are still there, to them as to the others.
        try append(.memberLeft(MemberDeparture(userID: member)), to: .members, in: workspace)
        for guest in guests.sorted() {
            try append(.memberLeft(MemberDeparture(userID: member)), to: .user(guest), in: workspace)
        }
        try revokeInvitations(of: member, as: Role.allCases, to: workspace)
        try session.run(
            "DELETE FROM members WHERE workspace_id = $1 AND user_id = $2", .id(workspace), .id(member))
        changes.relieved.insert(member)
    }
}

extension ChatError {
    static let lastOwner = ChatError.conflict(
        "last_owner", "A workspace needs an owner: make somebody else owner first.")
}
