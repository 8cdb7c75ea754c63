internal import ChatModel

/// Reading a workspace in, line by line. What is made gets identifiers and numbers of its own; each line that has been
/// taken is remembered, and is nothing new when it comes again. Nobody is told: who is in the workspace comes into it
/// with the last line, and finds everything there.
extension ChatTransaction {
    package func take(_ record: ExportRecord, _ progress: inout ImportProgress) throws {
        switch record {
        case .export(let header):
            guard progress.source == nil else { throw ImportFault.order }
            guard (1...ExportHeader.currentVersion).contains(header.version) else {
                throw ImportFault.newer(version: header.version)
            }
            progress.source = header.id
        case .workspace(let workspace): try take(workspace, &progress)
        case .user(let user): try take(user, &progress)
        case .channel(let channel): try take(channel, &progress)
        case .message(let message): try take(message, &progress)
        case .channelMember(let member): try take(member, &progress)
        case .member(let member):
            let person = try progress.person(member.userID)
            guard !progress.gone.contains(member.userID) else { return }
            progress.members.append((person, member.role, member.joinedAt))
        case .end(let end): try take(end, &progress)
        }
    }

    // MARK: What has been taken

    enum Imported: String { case workspace, user, channel, message, end }

    func imported<Named>(_ kind: Imported, _ key: String, from source: String) throws -> Identifier<Named>? {
        guard
            var row = try session.row(
                "SELECT id FROM imports WHERE source = $1 AND kind = $2 AND key = $3", .text(source), .name(kind),
                .text(key))
        else { return nil }
        return try row.id()
    }

    func remember<Named>(
        _ kind: Imported, _ key: String, from source: String, as id: Identifier<Named>
    ) throws {
        try session.run(
            "INSERT INTO imports (source, kind, key, id) VALUES ($1, $2, $3, $4)", .text(source), .name(kind),
            .text(key), .id(id))
    }

    // MARK: The workspace

    private func take(_ workspace: ExportedWorkspace, _ progress: inout ImportProgress) throws {
        guard let source = progress.source, progress.workspace == nil else { throw ImportFault.order }
        guard try !isBeingTakenAway(importOf: source) else {
            throw ImportFault.refused("What was imported of this file is being deleted: try again in some minutes.")
        }
        if let id: WorkspaceID = try imported(.workspace, "", from: source) {
            progress.workspace = id
            let end: WorkspaceID? = try imported(.end, "", from: source)
            progress.isComplete = end != nil
            return
        }
        let id: WorkspaceID = makeID(at: workspace.createdAt)
        let name = Texts.line(workspace.name, upTo: limits.displayNameLength) ?? "Imported"
        let slug = try Texts.slug(progress.slug ?? workspace.slug ?? Self.slug(of: name, id), limits)
        let isMade = try session.run(
            """
            INSERT INTO workspaces (id, name, slug, sequence, created_at, updated_at) VALUES ($1, $2, $3, 0, $4, $5)
            ON CONFLICT (slug) DO NOTHING
            """, .id(id), .text(name), .text(slug), .time(workspace.createdAt), .time(now))
        guard isMade == 1 else {
            throw ImportFault.refused("There is a workspace '\(slug)': choose another address with --slug.")
        }
        try remember(.workspace, "", from: source, as: id)
        progress.workspace = id
    }

    /// Throws where the workspace was deleted between two parts of the import. Until this transaction ends, it is not.
    private func demandThere(_ workspace: WorkspaceID) throws {
        try lock(workspace)
        guard try !isDeleted(workspace) else { throw ImportFault.refused("The workspace was deleted.") }
    }

    private func take(_ end: ExportEnd, _ progress: inout ImportProgress) throws {
        let (source, workspace) = try progress.place()
        guard end.messages == progress.messages else { throw ImportFault.brokenOff }
        try demandThere(workspace)
        for member in progress.members {
            try session.run(
                """
                INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)
                ON CONFLICT DO NOTHING
                """, .id(workspace), .id(member.user), .name(member.role), .time(member.joinedAt))
            changes.arrivals.insert(member.user)
        }
        try remember(.end, "", from: source, as: workspace)
        progress.isComplete = true
    }

    // MARK: People

    private func take(_ user: ExportedUser, _ progress: inout ImportProgress) throws {
        let (source, _) = try progress.place()
        let id: UserID
        if let known: UserID = try imported(.user, user.id, from: source) {
            id = known
        } else {
            if let account = try account(withAddressOf: user, trusting: progress.trustsAddresses) {
                id = account
            } else {
                id = try insertAccount(of: user)
                progress.added.accounts += 1
            }
            try remember(.user, user.id, from: source, as: id)
        }
        // Whoever was put out does not come in again by an account that they have for something else.
        if user.deactivatedAt != nil, try credentials(of: id) != nil { progress.gone.insert(user.id) }
        progress.people[user.id] = ImportProgress.Person(
            id: id, formerName: user.username, name: try profile(of: id).username)
    }

    private func account(withAddressOf user: ExportedUser, trusting: Bool) throws -> UserID? {
        guard let email = user.email,
            var row = try session.row(
                "SELECT id, username, email_verified_at FROM users WHERE email_key = $1", .text(email.lowercased()))
        else { return nil }
        let (id, username): (UserID, String) = (try row.id(), try row.text())
        let isConfirmed = try row.timeOrNull() != nil
        // One that an import has made has no password that anybody could know.
        let isImported = try session.row("SELECT 1 FROM users WHERE id = $1 AND password_hash = ''", .id(id)) != nil
        guard isConfirmed || isImported || trusting else { throw ImportFault.unconfirmedAddress(username: username) }
        return id
    }

    /// An account without a password, which its owner gets by resetting it.
    private func insertAccount(of user: ExportedUser) throws -> UserID {
        let id: UserID = makeID(at: user.createdAt)
        // RFC 2606 §2: nobody has an address there.
        let email = user.email.flatMap { try? Texts.email($0, isNew: false) } ?? "\(id)@import.invalid"
        let wanted = Texts.usernameLike(user.username, limits)
        let displayName = Texts.line(user.displayName, upTo: limits.displayNameLength) ?? wanted
        for number in 1...10_000 {
            let username = Texts.numbered(wanted, number, upTo: limits.usernameLength)
            guard try !isUsernameTaken(username) else { continue }
            let isMade = try session.run(
                """
                INSERT INTO users (id, email, email_key, username, display_name, display_key, status, status_text,
                    password_hash, is_server_owner, deactivated_at, created_at, updated_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, '', '', 0, $8, $9, $10) ON CONFLICT (username) DO NOTHING
                """, .id(id), .text(email), .text(email.lowercased()), .text(username), .text(displayName),
                .text(displayName.lowercased()), .name(UserStatus.online), .time(user.deactivatedAt),
                .time(user.createdAt), .time(now))
            if isMade == 1 { return id }
        }
        throw ImportFault.refused("There are too many people called '\(wanted)'.")
    }

    // MARK: Channels

    private func take(_ channel: ExportedChannel, _ progress: inout ImportProgress) throws {
        let (source, workspace) = try progress.place()
        if let id: ChannelID = try imported(.channel, channel.id, from: source) {
            progress.channels[channel.id] = id
            return
        }
        let id =
            channel.kind.isDirect
            ? try insertDirect(channel, in: workspace, progress) : try insertNamed(channel, in: workspace, progress)
        try remember(.channel, channel.id, from: source, as: id)
        progress.channels[channel.id] = id
        progress.added.channels += 1
    }

    private func insertNamed(
        _ channel: ExportedChannel, in workspace: WorkspaceID, _ progress: ImportProgress
    ) throws -> ChannelID {
        let wanted = Texts.channelNameLike(channel.name ?? "", limits)
        for number in 1...limits.channelsOfWorkspace {
            let name = Texts.numbered(wanted, number, upTo: limits.channelNameLength)
            if let id = try insert(channel, channel.kind, name: name, people: nil, in: workspace, progress) {
                return id
            }
        }
        throw ImportFault.refused("There are too many channels called '\(wanted)'.")
    }

    private func insertDirect(
        _ channel: ExportedChannel, in workspace: WorkspaceID, _ progress: ImportProgress
    ) throws -> ChannelID {
        let people = Set(try channel.userIDs.map { try progress.person($0) }).sorted()
        guard !people.isEmpty else { throw ImportFault.unknown("user") }
        let key = people.map(\.description).joined(separator: " ")
        let kind = people.count > 2 ? ChannelKind.group : .direct
        if let id = try insert(channel, kind, name: nil, people: key, in: workspace, progress) { return id }
        // Two people of the file are one here.
        guard
            var row = try session.row(
                "SELECT id FROM channels WHERE workspace_id = $1 AND people_key = $2", .id(workspace), .text(key))
        else { throw ImportFault.unknown("channel") }
        return try row.id()
    }

    /// Nil where there is one of this name, or of these people.
    private func insert(
        _ channel: ExportedChannel, _ kind: ChannelKind, name: String?, people: String?, in workspace: WorkspaceID,
        _ progress: ImportProgress
    ) throws -> ChannelID? {
        try demandThere(workspace)
        let id: ChannelID = makeID(at: channel.createdAt)
        let note = { (text: String) in
            String(Texts.oneLine(text).prefix(self.limits.topicLength))
        }
        let isMade = try session.run(
            """
            INSERT INTO channels (id, workspace_id, kind, name, people_key, topic, purpose, created_by, created_at,
                updated_at, archived_at, last_message, version)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, 0, 1) ON CONFLICT DO NOTHING
            """, .id(id), .id(workspace), .name(kind), .text(name), .text(people), .text(note(channel.topic)),
            .text(note(channel.purpose)), .id(try progress.person(channel.createdBy)), .time(channel.createdAt),
            .time(channel.archivedAt))
        return isMade == 1 ? id : nil
    }

    private func take(_ member: ExportedChannelMember, _ progress: inout ImportProgress) throws {
        let (source, _) = try progress.place()
        let channel = try progress.channel(member.channelID)
        if progress.gone.contains(member.userID),
            try session.row("SELECT 1 FROM channels WHERE id = $1 AND people_key IS NULL", .id(channel)) != nil
        {
            return
        }
        var lastRead: Int64 = 0
        if let key = member.lastRead, let message: MessageID = try imported(.message, key, from: source),
            var row = try session.row("SELECT sequence FROM messages WHERE id = $1", .id(message))
        {
            lastRead = try row.integer()
        }
        try session.run(
            """
            INSERT INTO channel_members (channel_id, user_id, joined_at, last_read, notifications)
            VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
            """, .id(channel), .id(try progress.person(member.userID)), .time(member.joinedAt), .integer(lastRead),
            .name(member.notifications))
    }
}
