package import ChatModel

/// Invitations: how people come into a workspace.
extension ChatTransaction {
    /// What an invitation is to be.
    package struct NewInvitation: Sendable {
        /// For this address alone; nil for a link for whoever has it.
        package var email: String?
        package var role: Role
        /// What a guest is put into; of others, besides `general`.
        package var channelIDs: [ChannelID]
        package var maximumUses: Int?

        package init(email: String? = nil, role: Role = .member, channelIDs: [ChannelID] = [], maximumUses: Int? = nil)
        {
            self.email = email
            self.role = role
            self.channelIDs = channelIDs
            self.maximumUses = maximumUses
        }
    }

    /// Whether somebody may make such an invitation. Writes nothing: it is asked before the letter is counted.
    ///
    /// - Returns: the address that it is for, as a letter takes it.
    /// - Throws: what `invite` throws.
    package func checkInvitation(
        _ new: NewInvitation, to workspace: WorkspaceID, by user: UserID
    ) throws -> String? {
        let own = try demandToRead(.inviteMembers, in: workspace, by: user)
        guard own.invites(as: new.role) else { throw ChatError(.role) }
        let email = try new.email.map { try Texts.email($0) }
        if let uses = new.maximumUses, !(1...10_000).contains(uses) {
            throw ChatError.invalid("maximum_uses", "An invitation is for 1 to 10000 people.")
        }
        guard new.channelIDs.count <= 50 else {
            throw ChatError.invalid("channel_ids", "An invitation leads into at most 50 channels.")
        }
        if new.role == .guest, new.channelIDs.isEmpty {
            throw ChatError.invalid("channel_ids", "A guest sees only the channels that they are put into: name one.")
        }
        for channel in Set(new.channelIDs) {
            guard try demandToRead(.addToChannel, in: channel, by: user).workspace == workspace else {
                throw ChatError.notFound("channel")
            }
        }
        guard try invitationCount(of: user, to: workspace) < limits.invitationsOfPerson else {
            throw ChatError.conflict(
                "too_many_invitations",
                "\(limits.invitationsOfPerson) of your invitations are open: withdraw some, or wait until they end."
            )
        }
        return email
    }

    /// Makes an invitation.
    ///
    /// - Parameter token: of the link's secret.
    package func invite(
        _ new: NewInvitation, with token: SecretHash, to workspace: WorkspaceID, by user: UserID
    ) throws -> Invitation {
        try lock(workspace)
        let email = try checkInvitation(new, to: workspace, by: user)
        let id: InvitationID = makeID()
        try session.run(
            """
            INSERT INTO invitations (id, workspace_id, token_hash, email, role, created_by, created_at, expires_at,
                uses, maximum_uses)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9)
            """, .id(id), .id(workspace), token.value, .text(email?.lowercased()), .name(new.role), .id(user),
            .time(now), .time(now.advanced(by: lifetimes.invitation)),
            email == nil ? new.maximumUses.map { .integer($0) } ?? .null : .integer(1))
        for channel in Set(new.channelIDs).sorted() {
            try session.run(
                "INSERT INTO invitation_channels (invitation_id, channel_id) VALUES ($1, $2)", .id(id), .id(channel))
        }
        return try invitation(id)
    }

    private func invitationCount(of user: UserID, to workspace: WorkspaceID) throws -> Int {
        guard
            var row = try session.row(
                """
                SELECT COUNT(*) FROM invitations i WHERE i.workspace_id = $1 AND i.created_by = $3 AND \(Self.works)
                """, .id(workspace), .time(now), .id(user))
        else { return 0 }
        return try row.int()
    }

    /// Takes away those that have been over for as long as they would have lasted, a part of them.
    ///
    /// - Returns: whether there may be more.
    package func sweepInvitations(atMost count: Int = 500) throws -> Bool {
        let old = try session.rows(
            "SELECT id FROM invitations WHERE expires_at <= $1 LIMIT $2",
            .time(now.advanced(by: .zero - lifetimes.invitation)), .integer(count))
        for var row in old {
            let id: InvitationID = try row.id()
            try session.run("DELETE FROM invitation_channels WHERE invitation_id = $1", .id(id))
            try session.run("DELETE FROM invitations WHERE id = $1", .id(id))
        }
        return old.count == count
    }

    /// Whether an invitation works; `$2` is the time.
    private static let works =
        "i.revoked_at IS NULL AND i.expires_at > $2 AND (i.maximum_uses IS NULL OR i.uses < i.maximum_uses)"

    private static let invitationColumns =
        "i.id, i.email, i.role, i.created_by, i.created_at, i.expires_at, i.uses, i.maximum_uses"

    private func invitation(_ row: inout SQLRow) throws -> Invitation {
        let id: InvitationID = try row.id()
        let channels: [ChannelID] = try session.rows(
            "SELECT channel_id FROM invitation_channels WHERE invitation_id = $1 ORDER BY channel_id", .id(id)
        ).map {
            var row = $0
            return try row.id()
        }
        return Invitation(
            id: id, email: try row.textOrNull(), role: try row.name(), channelIDs: channels, createdBy: try row.id(),
            createdAt: try row.time(), expiresAt: try row.time(), uses: try row.int(),
            maximumUses: try row.intOrNull())
    }

    private func invitation(_ id: InvitationID) throws -> Invitation {
        guard
            var row = try session.row(
                "SELECT \(Self.invitationColumns) FROM invitations i WHERE i.id = $1", .id(id))
        else { throw ChatError.notFound("invitation") }
        return try invitation(&row)
    }

    /// The invitations of a workspace that still work, newest first: for admins all of them, for others their own.
    package func invitations(of workspace: WorkspaceID, for user: UserID) throws -> [Invitation] {
        let role = try demandToRead(.inviteMembers, in: workspace, by: user)
        let seesAll = Permission.seeInvitations.rule.verdict(on: Standing(role: role)) == .allowed
        return try session.rows(
            """
            SELECT \(Self.invitationColumns) FROM invitations i
            WHERE i.workspace_id = $1 AND \(Self.works) AND ($3 = 1 OR i.created_by = $4)
            ORDER BY i.created_at DESC, i.id LIMIT 1000
            """, .id(workspace), .time(now), .flag(seesAll), .id(user)
        ).map {
            var row = $0
            return try invitation(&row)
        }
    }

    package func revokeInvitation(_ id: InvitationID, in workspace: WorkspaceID, by user: UserID) throws {
        let role = try demand(.seeWorkspace, in: workspace, by: user)
        let own = try session.row(
            "SELECT 1 FROM invitations WHERE id = $1 AND workspace_id = $2 AND created_by = $3", .id(id),
            .id(workspace), .id(user))
        try Permission.revokeInvitation.check(Standing(role: role, isOwn: own != nil), of: "workspace")
        let revoked = try session.run(
            "UPDATE invitations SET revoked_at = $3 WHERE id = $1 AND workspace_id = $2 AND revoked_at IS NULL",
            .id(id), .id(workspace), .time(now))
        guard revoked == 1 else { throw ChatError.notFound("invitation") }
    }

    /// Those that somebody has made and could not make any more.
    func revokeInvitations(of user: UserID, as roles: [Role], to workspace: WorkspaceID) throws {
        for role in roles {
            try session.run(
                """
                UPDATE invitations SET revoked_at = $4
                WHERE workspace_id = $1 AND created_by = $2 AND role = $3 AND revoked_at IS NULL
                """, .id(workspace), .id(user), .name(role), .time(now))
        }
    }

    /// Those that somebody has made lead into a channel no more; a guest's that leads into no other is over.
    func withdrawInvitations(of user: UserID, into channel: ChannelID, of workspace: WorkspaceID) throws {
        try session.run(
            """
            DELETE FROM invitation_channels WHERE channel_id = $1 AND invitation_id IN (
                SELECT id FROM invitations WHERE workspace_id = $2 AND created_by = $3)
            """, .id(channel), .id(workspace), .id(user))
        try session.run(
            """
            UPDATE invitations SET revoked_at = $3
            WHERE workspace_id = $1 AND created_by = $2 AND role = 'guest' AND revoked_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM invitation_channels c WHERE c.invitation_id = invitations.id)
            """, .id(workspace), .id(user), .time(now))
    }

    /// What a link leads to, for who has it.
    package func invitation(with token: SecretHash) throws -> (workspace: Workspace, invitation: Invitation) {
        guard
            var row = try session.row(
                """
                SELECT \(Self.invitationColumns), \(Self.workspaceColumns) FROM invitations i
                JOIN workspaces w ON w.id = i.workspace_id
                WHERE i.token_hash = $1 AND i.revoked_at IS NULL AND i.expires_at > $2
                    AND (i.maximum_uses IS NULL OR i.uses < i.maximum_uses)
                """, token.value, .time(now))
        else {
            throw ChatError(.gone, code: "invitation_over", "This invitation was used up, withdrawn, or is too old.")
        }
        let invitation = try invitation(&row)
        return (try Self.workspace(&row), invitation)
    }

    /// - Throws: `ChatError` where a link leads nowhere, or is for another address than this one.
    package func checkInvitation(with token: SecretHash, isFor email: String) throws {
        try Self.check(invitation(with: token).invitation, isFor: Texts.email(email))
    }

    private static func check(_ invitation: Invitation, isFor email: String) throws(ChatError) {
        // By bytes, as accounts have addresses: two ways to write a letter are two mailboxes.
        guard invitation.email.map({ $0.utf8.elementsEqual(email.lowercased().utf8) }) ?? true else {
            throw .forbidden("other_address", "This invitation is for another address than yours.")
        }
    }

    /// Takes somebody in. Who is in the workspace already stays what they are.
    package func accept(invitationWith token: SecretHash, by user: UserID) throws -> WorkspaceListing {
        let workspace = try invitation(with: token).workspace.id
        try lock(workspace)
        // Somebody else may have used it up in between.
        let invitation = try invitation(with: token).invitation
        try Self.check(invitation, isFor: account(of: user).email)
        if try role(of: user, in: workspace) == nil {
            guard try workspaceIDs(of: user).count < limits.workspacesOfUser else {
                throw ChatError.conflict(
                    "too_many_workspaces", "Nobody is in more than \(limits.workspacesOfUser) workspaces.")
            }
            try session.run("UPDATE invitations SET uses = uses + 1 WHERE id = $1", .id(invitation.id))
            try insertMember(user, as: invitation.role, into: workspace)
            var channels = Set(invitation.channelIDs)
            if invitation.role != .guest, let general = try generalChannel(of: workspace) { channels.insert(general) }
            for channel in channels.sorted() {
                let standing = try place(in: channel, of: user).standing
                guard standing.channel?.isMember == false, standing.channel?.isArchived == false else { continue }
                try put(user, into: channel, in: workspace)
            }
        }
        return try self.workspace(workspace, for: user)
    }

    /// The first channel of a workspace, whatever it is called by now.
    private func generalChannel(of workspace: WorkspaceID) throws -> ChannelID? {
        guard
            var row = try session.row(
                """
                SELECT id FROM channels WHERE workspace_id = $1 AND kind = 'public' AND archived_at IS NULL
                ORDER BY created_at, id LIMIT 1
                """, .id(workspace))
        else { return nil }
        return try row.id()
    }
}
