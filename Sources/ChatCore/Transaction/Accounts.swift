package import ChatModel

/// A secret's SHA-256: what is kept of secrets that were given out.
package struct SecretHash: Sendable, Equatable {
    let bytes: [UInt8]

    /// - Parameter bytes: 32 of them.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    var value: SQLValue { .bytes(bytes) }
}

/// What somebody gives to become known.
package struct NewAccount: Sendable {
    package var email: String
    package var username: String
    package var displayName: String
    /// Of the password; `ChatTransaction` never sees the password itself.
    package var passwordHash: String

    package init(email: String, username: String, displayName: String, passwordHash: String) {
        self.email = email
        self.username = username
        self.displayName = displayName
        self.passwordHash = passwordHash
    }
}

/// What is checked before somebody is let in.
package struct Credentials: Sendable, Equatable {
    package let user: UserID
    package let passwordHash: String
    package let isEmailVerified: Bool
}

/// Accounts: who people are on this server.
extension ChatTransaction {
    static let profileColumns =
        "u.id, u.username, u.display_name, u.avatar_id, u.status, u.status_text, u.deactivated_at, u.created_at, "
        + "u.updated_at"

    static func profile(_ row: inout SQLRow) throws -> Profile {
        let (id, username, displayName): (UserID, String, String) = (try row.id(), try row.text(), try row.text())
        let avatar: FileID? = try row.idOrNull()
        return Profile(
            id: id, username: username, displayName: displayName,
            avatarURL: avatar.map { "/api/v1/avatars/\($0)" }, status: try row.name(), statusText: try row.text(),
            isDeactivated: try row.integerOrNull() != nil, createdAt: try row.time(), updatedAt: try row.time())
    }

    func profile(of user: UserID) throws -> Profile {
        guard
            var row = try session.row("SELECT \(Self.profileColumns) FROM users u WHERE u.id = $1", .id(user))
        else { throw ChatError.notFound("user") }
        return try Self.profile(&row)
    }

    package func account(of user: UserID) throws -> Account {
        guard
            var row = try session.row(
                "SELECT \(Self.profileColumns), u.email, u.email_verified_at, u.is_server_owner FROM users u "
                    + "WHERE u.id = $1", .id(user))
        else { throw ChatError.notFound("user") }
        return Account(
            profile: try Self.profile(&row), email: try row.text(), isEmailVerified: try row.integerOrNull() != nil,
            isServerOwner: try row.flag())
    }

    /// The account of an address, also of who has left.
    package func account(addressedBy email: String) throws -> Account { try account(of: user(named: email)) }

    /// Somebody's profile, as somebody else may see it: those who share a workspace, and of a guest a channel.
    package func profile(of user: UserID, seenBy reader: UserID) throws -> Profile {
        if user != reader, try !doShareAWorkspace(reader, user) { throw ChatError.notFound("user") }
        return try profile(of: user)
    }

    private func doShareAWorkspace(_ reader: UserID, _ user: UserID) throws -> Bool {
        try session.row(
            """
            SELECT 1 FROM members mine JOIN members theirs ON theirs.workspace_id = mine.workspace_id
            WHERE mine.user_id = $1 AND theirs.user_id = $2 AND (mine.role <> 'guest' OR EXISTS (
                SELECT 1 FROM channel_members a JOIN channel_members b ON b.channel_id = a.channel_id
                JOIN channels c ON c.id = a.channel_id
                WHERE a.user_id = $1 AND b.user_id = $2 AND c.workspace_id = mine.workspace_id))
            """, .id(reader), .id(user)) != nil
    }

    /// Makes an account. The first one on a server owns it.
    ///
    /// - Returns: nil when the address has an account already. Whoever asks is answered as if it had been made, so that
    ///   nobody can find out whose addresses there are.
    /// - Throws: `ChatError` for a name that is taken, and for texts that are not what they are to be.
    package func register(_ new: NewAccount) throws -> UserID? {
        let email = try Texts.email(new.email)
        let username = try Texts.username(new.username, limits)
        let displayName = try Texts.displayName(new.displayName, limits)
        // Asked first, so that the answer about a name tells nothing of an address.
        guard try !isUsernameTaken(username) else { throw ChatError.usernameTaken }
        if try session.row("SELECT 1 FROM users WHERE email_key = $1", .text(email.lowercased())) != nil { return nil }
        let id: UserID = makeID()
        try session.run(
            """
            INSERT INTO users (id, email, email_key, username, display_name, display_key, status, status_text,
                password_hash, is_server_owner, created_at, updated_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, '', $8, 0, $9, $9)
            """, .id(id), .text(email), .text(email.lowercased()), .text(username), .text(displayName),
            .text(displayName.lowercased()), .name(UserStatus.online), .text(new.passwordHash), .time(now))
        let isFirst = try session.run(
            "INSERT INTO settings (name, value) VALUES ('server_owner', $1) ON CONFLICT DO NOTHING",
            .text(id.description))
        if isFirst == 1 { try session.run("UPDATE users SET is_server_owner = 1 WHERE id = $1", .id(id)) }
        return id
    }

    /// Whether nobody has an account yet.
    package func isServerNew() throws -> Bool {
        try session.row("SELECT 1 FROM settings WHERE name = 'server_owner'") == nil
    }

    /// What logging in as this address or username takes; nil when there is nobody of that name any more.
    package func credentials(of name: String) throws -> Credentials? {
        let key = name.lowercased()
        guard
            var row = try session.row(
                """
                SELECT id, password_hash, email_verified_at FROM users
                WHERE (email_key = $1 OR username = $1) AND deactivated_at IS NULL
                """, .text(key))
        else { return nil }
        return Credentials(
            user: try row.id(), passwordHash: try row.text(), isEmailVerified: try row.integerOrNull() != nil)
    }

    package func credentials(of user: UserID) throws -> Credentials? {
        guard
            var row = try session.row(
                "SELECT id, password_hash, email_verified_at FROM users WHERE id = $1 AND deactivated_at IS NULL",
                .id(user))
        else { return nil }
        return Credentials(
            user: try row.id(), passwordHash: try row.text(), isEmailVerified: try row.integerOrNull() != nil)
    }

    /// Keeps the same password by another hash: nothing that anybody sees has changed, and no session ends.
    package func keepPassword(of user: UserID, as passwordHash: String) throws {
        try session.run("UPDATE users SET password_hash = $2 WHERE id = $1", .id(user), .text(passwordHash))
    }

    /// Gives somebody another password, and ends all their sessions but one.
    ///
    /// - Parameter former: the one that was found to be known, if it had to be: if it is another one by now, nothing
    ///   changes. To look at a password takes a while.
    package func changePassword(
        of user: UserID, from former: String? = nil, to passwordHash: String, keeping session: SessionID?
    ) throws {
        try lockUser(user)
        if let former, try credentials(of: user)?.passwordHash != former { throw ChatError.wrongPassword }
        try self.session.run(
            "UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1", .id(user), .text(passwordHash),
            .time(now))
        try endSessions(of: user, but: session)
        // A link that was sent before is of no use to who asked for it.
        try self.session.run("DELETE FROM email_tokens WHERE user_id = $1 AND purpose = 'reset'", .id(user))
    }

    /// What somebody may change of themselves; nil leaves it as it is.
    package struct ProfileChanges: Sendable {
        package var username: String?
        package var displayName: String?
        package var status: UserStatus?
        package var statusText: String?

        package init(
            username: String? = nil, displayName: String? = nil, status: UserStatus? = nil, statusText: String? = nil
        ) {
            self.username = username
            self.displayName = displayName
            self.status = status
            self.statusText = statusText
        }
    }

    package func changeProfile(of user: UserID, _ changes: ProfileChanges) throws -> Account {
        // Of two changes at the same time on PostgreSQL neither is lost.
        try lockUser(user)
        var profile = try profile(of: user)
        let former = profile
        if let username = changes.username {
            profile.username = try Texts.username(username, limits)
            guard try !isUsernameTaken(profile.username, but: user) else { throw ChatError.usernameTaken }
        }
        // A name that is there stays, whatever has been refused since.
        if let name = changes.displayName, name != profile.displayName {
            profile.displayName = try Texts.displayName(name, limits)
        }
        if let status = changes.status { profile.status = status }
        if let text = changes.statusText {
            profile.statusText = try Texts.note(text, upTo: limits.statusTextLength, field: "status_text")
        }
        // A client that says again and again that it is online has changed nothing, and fills nobody's log.
        guard profile != former else { return try account(of: user) }
        try session.run(
            """
            UPDATE users SET username = $2, display_name = $3, display_key = $4, status = $5, status_text = $6,
                updated_at = $7
            WHERE id = $1
            """, .id(user), .text(profile.username), .text(profile.displayName),
            .text(profile.displayName.lowercased()), .name(profile.status),
            .text(profile.statusText), .time(now))
        try tellWorkspaces(of: user)
        return try account(of: user)
    }

    /// Everybody who knows them learns what somebody is now.
    func tellWorkspaces(of user: UserID) throws {
        let profile = try profile(of: user)
        for workspace in try workspaceIDs(of: user) {
            try append(.userUpdated(profile), to: .about(user), in: workspace)
        }
    }

    /// The workspaces that somebody is in, in the order in which they were made.
    package func workspaceIDs(of user: UserID) throws -> [WorkspaceID] {
        try session.rows("SELECT workspace_id FROM members WHERE user_id = $1 ORDER BY workspace_id", .id(user)).map {
            var row = $0
            return try row.id()
        }
    }

    /// As above, of many at once.
    package func workspaceIDs(of users: [UserID]) throws -> [UserID: [WorkspaceID]] {
        var found: [UserID: [WorkspaceID]] = [:]
        // As many as a statement has parameters for.
        for start in stride(from: 0, to: users.count, by: 500) {
            let part = users[start..<min(start + 500, users.count)]
            let list = (1...part.count).map { "$\($0)" }.joined(separator: ", ")
            for var row in try session.rows(
                "SELECT user_id, workspace_id FROM members WHERE user_id IN (\(list))", part.map { SQLValue.id($0) })
            {
                found[try row.id(), default: []].append(try row.id())
            }
        }
        return found
    }

    /// Somebody leaves the server for good. What they wrote stays, and their names stay theirs. Links that they have
    /// given out lead nowhere any more, also when they come back.
    ///
    /// - Throws: `ChatError` while they are the only owner of a workspace that others are in.
    package func deactivate(_ user: UserID) throws {
        for workspace in try workspaceIDs(of: user) {
            try lock(workspace)
            if try isLastOwner(user, of: workspace), try memberCount(of: workspace) > 1 { throw ChatError.lastOwner }
            try revokeInvitations(of: user, as: Role.allCases, to: workspace)
        }
        try session.run("UPDATE users SET deactivated_at = $2, updated_at = $2 WHERE id = $1", .id(user), .time(now))
        try leaveCalls(of: user)
        try endSessions(of: user, but: nil)
        try session.run("DELETE FROM email_tokens WHERE user_id = $1", .id(user))
        try tellWorkspaces(of: user)
    }
}

extension ChatError {
    static let usernameTaken = ChatError.conflict("username_taken", "This username is taken.", field: "username")
}
