package import ChatModel

/// A channel, and where whoever asks stands to it.
struct ChannelPlace {
    let channel: ChannelID
    let workspace: WorkspaceID
    let standing: Standing
}

/// Channels, direct and group messages, and who is in them.
extension ChatTransaction {
    static let channelColumns =
        "c.id, c.workspace_id, c.kind, c.name, c.topic, c.purpose, c.archived_at, c.created_by, c.created_at, "
        + "c.updated_at, c.version, c.people_key"

    static func channel(_ row: inout SQLRow) throws -> Channel {
        var channel = Channel(
            id: try row.id(), workspaceID: try row.id(), kind: try row.name(), name: try row.textOrNull(),
            topic: try row.text(), purpose: try row.text(), isArchived: try row.integerOrNull() != nil,
            createdBy: try row.id(), createdAt: try row.time(), updatedAt: try row.time(),
            version: try row.integer())
        channel.userIDs = (try row.textOrNull() ?? "").split(separator: " ").compactMap { UserID(String($0)) }
        return channel
    }

    func channel(_ id: ChannelID) throws -> Channel {
        guard
            var row = try session.row("SELECT \(Self.channelColumns) FROM channels c WHERE c.id = $1", .id(id))
        else { throw ChatError.notFound("channel") }
        return try Self.channel(&row)
    }

    /// Throws unless somebody may do this in the channel. Of what is written afterwards it stays true.
    @discardableResult
    func demand(_ permission: Permission, in channel: ChannelID, by user: UserID) throws -> ChannelPlace {
        guard var row = try session.row("SELECT workspace_id FROM channels WHERE id = $1", .id(channel)) else {
            throw ChatError.notFound("channel")
        }
        try lock(try row.id())
        return try demandToRead(permission, in: channel, by: user)
    }

    /// The same, for what writes nothing.
    @discardableResult
    func demandToRead(_ permission: Permission, in channel: ChannelID, by user: UserID) throws -> ChannelPlace {
        let place = try place(in: channel, of: user)
        try permission.check(place.standing, of: "channel")
        return place
    }

    func place(in channel: ChannelID, of user: UserID) throws -> ChannelPlace {
        guard
            var row = try session.row(
                """
                SELECT c.workspace_id, c.kind, c.archived_at, c.created_by, m.role, cm.joined_at FROM channels c
                LEFT JOIN members m ON m.workspace_id = c.workspace_id AND m.user_id = $2
                LEFT JOIN channel_members cm ON cm.channel_id = c.id AND cm.user_id = $2
                WHERE c.id = $1
                """, .id(channel), .id(user))
        else { throw ChatError.notFound("channel") }
        let workspace: WorkspaceID = try row.id()
        let kind: ChannelKind = try row.name()
        let isArchived = try row.integerOrNull() != nil
        let creator: UserID = try row.id()
        let role = try row.textOrNull().flatMap { Role(rawValue: $0) }
        let isMember = try row.integerOrNull() != nil
        return ChannelPlace(
            channel: channel, workspace: workspace,
            standing: Standing(
                role: role, channel: ChannelStanding(kind: kind, isMember: isMember, isArchived: isArchived),
                isOwn: creator == user))
    }

    // MARK: Making them

    package func createChannel(
        _ kind: ChannelKind, name: String, topic: String = "", purpose: String = "", in workspace: WorkspaceID,
        by user: UserID
    ) throws -> ChannelListing {
        guard !kind.isDirect else {
            throw ChatError.invalid("kind", "A channel with a name is public or private.")
        }
        try demand(kind == .public ? .createPublicChannel : .createPrivateChannel, in: workspace, by: user)
        let channel = try insertChannel(
            kind, name: try Texts.channelName(name, limits), people: [user], in: workspace, by: user,
            topic: try Texts.note(topic, upTo: limits.topicLength, field: "topic"),
            purpose: try Texts.note(purpose, upTo: limits.topicLength, field: "purpose"))
        return try listing(of: channel.id, for: user)
    }

    /// Opens the conversation of some people, of which there is one: the same people find the same.
    ///
    /// - Parameter people: besides who asks; nobody for notes to oneself.
    /// - Returns: whether it is new.
    package func openDirect(
        with people: [UserID], in workspace: WorkspaceID, by user: UserID
    ) throws -> (listing: ChannelListing, isNew: Bool) {
        let role = try demand(.startDirectMessage, in: workspace, by: user)
        let everybody = Set(people).union([user]).sorted()
        guard everybody.count <= limits.peopleOfGroup else {
            throw ChatError.invalid(
                "user_ids", "At most \(limits.peopleOfGroup) people talk in a group; make a private channel for more.")
        }
        for person in everybody where person != user {
            let isThere = try self.role(of: person, in: workspace) != nil
            // Guests know of who is in their channels.
            guard isThere, try !profile(of: person).isDeactivated,
                try role != .guest || doShareAChannel(user, person, of: workspace)
            else { throw ChatError.notFound("user") }
        }
        let key = everybody.map(\.description).joined(separator: " ")
        if var row = try session.row(
            "SELECT id FROM channels WHERE workspace_id = $1 AND people_key = $2", .id(workspace), .text(key))
        {
            return (try listing(of: try row.id(), for: user), false)
        }
        let channel = try insertChannel(
            everybody.count > 2 ? .group : .direct, name: nil, people: everybody, in: workspace, by: user)
        return (try listing(of: channel.id, for: user), true)
    }

    private func doShareAChannel(_ user: UserID, _ other: UserID, of workspace: WorkspaceID) throws -> Bool {
        try session.row(
            """
            SELECT 1 FROM channel_members a JOIN channel_members b ON b.channel_id = a.channel_id
            JOIN channels c ON c.id = a.channel_id
            WHERE a.user_id = $1 AND b.user_id = $2 AND c.workspace_id = $3
            """, .id(user), .id(other), .id(workspace)) != nil
    }

    /// - Parameter people: are in it from the beginning; of a channel without a name they are what it is named by.
    func insertChannel(
        _ kind: ChannelKind, name: String?, people: [UserID], in workspace: WorkspaceID, by user: UserID,
        topic: String = "", purpose: String = ""
    ) throws -> Channel {
        if kind.isDirect {
            try demandRoomForConversation(in: workspace, by: user)
        } else {
            try demandRoomForChannel(in: workspace)
        }
        let id: ChannelID = makeID()
        let isMade = try session.run(
            """
            INSERT INTO channels (id, workspace_id, kind, name, people_key, topic, purpose, created_by, created_at,
                updated_at, last_message, version)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 0, 1) ON CONFLICT DO NOTHING
            """, .id(id), .id(workspace), .name(kind), .text(name),
            kind.isDirect ? .text(people.map(\.description).joined(separator: " ")) : .null, .text(topic),
            .text(purpose), .id(user), .time(now))
        guard isMade == 1 else { throw ChatError.channelNameTaken }
        for person in people { try insert(person, into: id, lastRead: 0) }
        let channel = try channel(id)
        try append(.channelCreated(channel), to: kind == .public ? .members : .channel(id), in: workspace)
        return channel
    }

    /// Conversations are none of them: they would leave no room for channels.
    private func demandRoomForChannel(in workspace: WorkspaceID) throws {
        guard
            var row = try session.row(
                "SELECT COUNT(*) FROM channels WHERE workspace_id = $1 AND people_key IS NULL", .id(workspace)),
            try row.int() < limits.channelsOfWorkspace
        else { throw ChatError.conflict("too_many_channels", "This workspace has as many channels as it may have.") }
    }

    /// Each person has a number of their own, so that nobody takes it from others.
    private func demandRoomForConversation(in workspace: WorkspaceID, by user: UserID) throws {
        guard
            var row = try session.row(
                """
                SELECT COUNT(*) FROM channels
                WHERE workspace_id = $1 AND people_key IS NOT NULL AND created_by = $2
                """, .id(workspace), .id(user)), try row.int() < limits.conversationsOfPerson
        else {
            throw ChatError.conflict(
                "too_many_conversations",
                "Nobody begins more than \(limits.conversationsOfPerson) conversations in a workspace.")
        }
    }

    private func insert(_ user: UserID, into channel: ChannelID, lastRead: Int64) throws {
        try session.run(
            """
            INSERT INTO channel_members (channel_id, user_id, joined_at, last_read, notifications)
            VALUES ($1, $2, $3, $4, $5)
            """, .id(channel), .id(user), .time(now), .integer(lastRead), .name(NotificationLevel.all))
    }

    // MARK: Changing them

    /// What may be changed of a channel; nil leaves it as it is.
    package struct ChannelChanges: Sendable {
        package var name: String?
        package var topic: String?
        package var purpose: String?

        package init(name: String? = nil, topic: String? = nil, purpose: String? = nil) {
            self.name = name
            self.topic = topic
            self.purpose = purpose
        }
    }

    /// - Parameter version: of the channel that whoever asks has seen; nil to change whatever is there.
    package func changeChannel(
        _ id: ChannelID, _ changes: ChannelChanges, ifVersion version: Int64? = nil, by user: UserID
    ) throws -> ChannelListing {
        let place = try demand(.readChannel, in: id, by: user)
        var channel = try channel(id)
        let former = channel
        if let name = changes.name {
            try Permission.renameChannel.check(place.standing, of: "channel")
            // A name that is there stays, whatever has been refused since.
            if name != channel.name { channel.name = try Texts.channelName(name, limits) }
            let other = try session.row(
                "SELECT 1 FROM channels WHERE workspace_id = $1 AND name = $2 AND id <> $3", .id(place.workspace),
                .text(channel.name), .id(id))
            guard other == nil else { throw ChatError.channelNameTaken }
        }
        if changes.topic != nil || changes.purpose != nil {
            try Permission.changeTopic.check(place.standing, of: "channel")
        }
        if let topic = changes.topic {
            channel.topic = try Texts.note(topic, upTo: limits.topicLength, field: "topic")
        }
        if let purpose = changes.purpose {
            channel.purpose = try Texts.note(purpose, upTo: limits.topicLength, field: "purpose")
        }
        if let version, version != channel.version { throw ChatError.outdated }
        guard channel != former else { return try listing(of: id, for: user) }
        try session.run(
            """
            UPDATE channels SET name = $2, topic = $3, purpose = $4, updated_at = $5, version = version + 1
            WHERE id = $1
            """, .id(id), .text(channel.name), .text(channel.topic), .text(channel.purpose), .time(now))
        return try told(of: id, in: place.workspace, for: user)
    }

    /// Closes a channel to new words, or opens it again. What is in it stays to be read.
    package func setArchived(_ isArchived: Bool, _ id: ChannelID, by user: UserID) throws -> ChannelListing {
        let place = try demand(isArchived ? .archiveChannel : .restoreChannel, in: id, by: user)
        guard try channel(id).isArchived != isArchived else { return try listing(of: id, for: user) }
        try writeArchived(isArchived, id)
        return try told(of: id, in: place.workspace, for: user)
    }

    func writeArchived(_ isArchived: Bool, _ id: ChannelID) throws {
        if isArchived { try endCalls(in: id) }
        try session.run(
            "UPDATE channels SET archived_at = $2, updated_at = $3, version = version + 1 WHERE id = $1", .id(id),
            isArchived ? .time(now) : .null, .time(now))
    }

    /// Whether somebody who has not left the server is in a channel.
    func isAnybody(in channel: ChannelID) throws -> Bool {
        try session.row(
            """
            SELECT 1 FROM channel_members cm JOIN users u ON u.id = cm.user_id
            WHERE cm.channel_id = $1 AND u.deactivated_at IS NULL LIMIT 1
            """, .id(channel)) != nil
    }

    private func told(of id: ChannelID, in workspace: WorkspaceID, for user: UserID) throws -> ChannelListing {
        let channel = try channel(id)
        try append(.channelUpdated(channel), to: channel.kind == .public ? .members : .channel(id), in: workspace)
        // Guests in a public channel are no members.
        if channel.kind == .public {
            for guest in try guests(in: id) { try append(.channelUpdated(channel), to: .user(guest), in: workspace) }
        }
        return try listing(of: id, for: user)
    }

    private func guests(in channel: ChannelID) throws -> [UserID] {
        try session.rows(
            """
            SELECT cm.user_id FROM channel_members cm JOIN channels c ON c.id = cm.channel_id
            JOIN members m ON m.workspace_id = c.workspace_id AND m.user_id = cm.user_id
            WHERE cm.channel_id = $1 AND m.role = 'guest' ORDER BY cm.user_id
            """, .id(channel)
        ).map {
            var row = $0
            return try row.id()
        }
    }

    // MARK: Coming and going

    package func joinChannel(_ id: ChannelID, by user: UserID) throws -> ChannelListing {
        let place = try demand(.joinChannel, in: id, by: user)
        if place.standing.channel?.isMember == false { try put(user, into: id, in: place.workspace) }
        return try listing(of: id, for: user)
    }

    package func leaveChannel(_ id: ChannelID, by user: UserID) throws {
        let place = try demand(.leaveChannel, in: id, by: user)
        try takeOut(user, of: try channel(id), in: place.workspace)
    }

    /// Brings somebody of the workspace in.
    package func add(_ person: UserID, to id: ChannelID, by user: UserID) throws {
        let place = try demand(.addToChannel, in: id, by: user)
        guard try role(of: person, in: place.workspace) != nil, try !profile(of: person).isDeactivated else {
            throw ChatError.notFound("user")
        }
        if try self.place(in: id, of: person).standing.channel?.isMember == true { return }
        try put(person, into: id, in: place.workspace)
    }

    package func remove(_ person: UserID, from id: ChannelID, by user: UserID) throws {
        guard person != user else { return try leaveChannel(id, by: user) }
        let place = try demand(.removeFromChannel, in: id, by: user)
        guard try self.place(in: id, of: person).standing.channel?.isMember == true else {
            throw ChatError.notFound("user")
        }
        try takeOut(person, of: try channel(id), in: place.workspace)
    }

    func put(_ user: UserID, into id: ChannelID, in workspace: WorkspaceID) throws {
        guard var row = try session.row("SELECT last_message FROM channels WHERE id = $1", .id(id)) else {
            throw ChatError.notFound("channel")
        }
        // What was said before is no news to them.
        try insert(user, into: id, lastRead: try row.integer())
        let change = ChannelPresenceChange(channel: try channel(id), user: try profile(of: user))
        try append(.channelJoined(change), to: .channel(id), in: workspace)
    }

    func takeOut(_ user: UserID, of channel: Channel, in workspace: WorkspaceID) throws {
        try leaveCalls(of: user, in: channel.id)
        let change = ChannelPresenceChange(channel: channel, user: try profile(of: user))
        // To those who stay, and, who is not among them any more, to who goes.
        try append(.channelLeft(change), to: .channel(channel.id), in: workspace)
        try append(.channelLeft(change), to: .user(user), in: workspace)
        try session.run(
            "DELETE FROM channel_members WHERE channel_id = $1 AND user_id = $2", .id(channel.id), .id(user))
        changes.relieved.insert(user)
        // Into a public one anybody could still bring others.
        guard channel.kind == .private else { return }
        try withdrawInvitations(of: user, into: channel.id, of: workspace)
        // Nobody can come into it any more, or close it, and nobody sees it who is to be told.
        if !channel.isArchived, try !isAnybody(in: channel.id) { try writeArchived(true, channel.id) }
    }
}

extension ChatError {
    static let channelNameTaken = ChatError.conflict(
        "name_taken", "There is a channel of this name in the workspace.", field: "name")
}
