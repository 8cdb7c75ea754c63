package import ChatModel

/// Who is told of a change.
package enum Audience: Sendable, Equatable {
    case everybody
    /// All but guests.
    case members
    /// Who is in the channel.
    case channel(ChannelID)
    case user(UserID)
    /// All who can see this person: members, and guests who share a channel with them.
    case about(UserID)

    enum Kind: String { case everybody, members, channel, user, about }

    fileprivate var columns: (kind: Kind, channel: ChannelID?, user: UserID?) {
        switch self {
        case .everybody: (.everybody, nil, nil)
        case .members: (.members, nil, nil)
        case .channel(let channel): (.channel, channel, nil)
        case .user(let user): (.user, nil, user)
        case .about(let user): (.about, nil, user)
        }
    }
}

/// An event as it is kept, and as it is sent.
package struct StoredEvent: Sendable, Equatable {
    package let workspaceID: WorkspaceID
    package let sequence: Int64
    package let kind: ChatChange.Kind
    package let audience: Audience
    /// The channel that it is about; nil when it is about none.
    package let channel: ChannelID?
    /// Whom it is about, or for; nil when that is nobody.
    package let user: UserID?
    package let at: Timestamp
    /// JSON, made once for all who get it.
    package let data: String

    /// The whole event as JSON.
    package var json: String {
        #"{"type":""# + kind.rawValue + #"","workspace_id":""# + workspaceID.description + #"","sequence":"#
            + String(sequence) + #","at":""# + at.description + #"","data":"# + data + "}"
    }
}

/// What somebody has missed.
package enum MissedEvents: Sendable, Equatable {
    /// In their order.
    ///
    /// - Parameter upTo: the number of the last one that was looked at: from there it goes on.
    case events([StoredEvent], upTo: Int64)
    /// More than is kept, or from before the database was put back: everything is to be read anew.
    case reload(from: Int64)
}

/// The workspace's events: everything that has changed, numbered without gaps in the order in which it became visible.
extension ChatTransaction {
    /// Takes the next number, for a change that names it, as a message does. A workspace that is deleted has none: its
    /// last event says so.
    func nextSequence(in workspace: WorkspaceID) throws -> Int64 {
        guard
            var row = try session.row(
                "UPDATE workspaces SET sequence = sequence + 1 WHERE id = $1 AND deleted_at IS NULL RETURNING sequence",
                .id(workspace))
        else { throw ChatError.notFound("workspace") }
        return try row.integer()
    }

    func append(_ change: ChatChange, to audience: Audience, in workspace: WorkspaceID) throws {
        try append(change, to: audience, in: workspace, as: try nextSequence(in: workspace))
    }

    func append(
        _ change: ChatChange, to audience: Audience, in workspace: WorkspaceID, as sequence: Int64
    ) throws {
        let data = String(decoding: try JSONWriter.json(change.data), as: UTF8.self)
        let (kind, channel, user) = audience.columns
        try session.run(
            """
            INSERT INTO events (workspace_id, sequence, kind, audience, channel_id, user_id, message_id, data,
                created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """, .id(workspace), .integer(sequence), .name(change.kind), .name(kind),
            .id(channel ?? change.subjects.channel), .id(user ?? change.subjects.user), .id(change.messageID),
            .text(data), .time(now))
        if sequence % 1_000 == 0 {
            try session.run(
                "DELETE FROM events WHERE workspace_id = $1 AND sequence <= $2", .id(workspace),
                .integer(sequence - limits.keptEvents))
        }
        changes.workspaces.insert(workspace)
    }

    /// The log has a message's words as they are now: whoever comes later does not read in it what was taken back. Of
    /// its events the first stays, with these words; of the others nothing is left to tell, for the one that follows
    /// says everything. So an edit costs the same however often there was one before.
    func takeFormerWords(of message: Message) throws {
        try session.run(
            "DELETE FROM events WHERE message_id = $1 AND kind IN ($2, $3, $4)", .id(message.id),
            .name(ChatChange.Kind.messageEdited), .name(ChatChange.Kind.messagePinned),
            .name(ChatChange.Kind.messageUnpinned))
        try session.run(
            "UPDATE events SET data = $2 WHERE message_id = $1 AND kind = $3", .id(message.id),
            .text(String(decoding: try JSONWriter.json(message), as: UTF8.self)), .name(ChatChange.Kind.messageSent))
    }

    static let eventColumns =
        "e.workspace_id, e.sequence, e.kind, e.audience, e.channel_id, e.user_id, e.created_at, e.data"

    static func event(_ row: inout SQLRow) throws -> StoredEvent {
        let workspace: WorkspaceID = try row.id()
        let sequence = try row.integer()
        let kind: ChatChange.Kind = try row.name()
        let audience: Audience.Kind = try row.name()
        let channel: ChannelID? = try row.idOrNull()
        let user: UserID? = try row.idOrNull()
        let told: Audience? =
            switch audience {
            case .everybody: .everybody
            case .members: .members
            case .channel: channel.map { .channel($0) }
            case .user: user.map { .user($0) }
            case .about: user.map { .about($0) }
            }
        guard let told else { throw SQLRowFault(column: 4, expected: "whom the event is for") }
        return StoredEvent(
            workspaceID: workspace, sequence: sequence, kind: kind, audience: told, channel: channel, user: user,
            at: try row.time(), data: try row.text())
    }

    /// The number of the newest event.
    package func sequence(of workspace: WorkspaceID) throws -> Int64 {
        guard var row = try session.row("SELECT sequence FROM workspaces WHERE id = $1", .id(workspace)) else {
            throw ChatError.notFound("workspace")
        }
        return try row.integer()
    }

    /// All events after a number, whoever they are for: what is passed on to those who are connected.
    package func events(of workspace: WorkspaceID, after sequence: Int64, limit: Int = 1_000) throws -> [StoredEvent] {
        try session.rows(
            """
            SELECT \(Self.eventColumns) FROM events e
            WHERE e.workspace_id = $1 AND e.sequence > $2 ORDER BY e.sequence LIMIT $3
            """, .id(workspace), .integer(sequence), .integer(limit)
        ).map {
            var row = $0
            return try Self.event(&row)
        }
    }

    /// What somebody who has seen all events up to a number has missed since, of what they may see now.
    package func missedEvents(
        of workspace: WorkspaceID, after sequence: Int64, by user: UserID, limit: Int = 1_000
    ) throws -> MissedEvents {
        let role = try role(of: user, in: workspace)
        try Permission.seeWorkspace.check(Standing(role: role), of: "workspace")
        let newest = try self.sequence(of: workspace)
        guard sequence >= 0, sequence <= newest, newest - sequence < limits.keptEvents else {
            return .reload(from: newest)
        }
        let rows = try session.rows(
            """
            SELECT \(Self.eventColumns) FROM events e
            WHERE e.workspace_id = $1 AND e.sequence > $2 AND (
                e.audience = 'everybody'
                OR e.audience = 'members' AND $4 = 1
                OR e.audience = 'user' AND e.user_id = $3
                OR e.audience = 'channel' AND EXISTS (
                    SELECT 1 FROM channel_members m WHERE m.channel_id = e.channel_id AND m.user_id = $3)
                OR e.audience = 'about' AND ($4 = 1 OR e.user_id = $3 OR EXISTS (
                    SELECT 1 FROM channel_members a JOIN channel_members b ON b.channel_id = a.channel_id
                    JOIN channels c ON c.id = a.channel_id
                    WHERE a.user_id = $3 AND b.user_id = e.user_id AND c.workspace_id = $1)))
            ORDER BY e.sequence LIMIT $5
            """, .id(workspace), .integer(sequence), .id(user), .flag(role != .guest), .integer(limit))
        let events = try rows.map {
            var row = $0
            return try Self.event(&row)
        }
        return .events(events, upTo: events.count < limit ? newest : events.last?.sequence ?? newest)
    }
}

extension ChatChange {
    /// The message whose words it repeats, so that they can be taken out when the message is deleted.
    fileprivate var messageID: MessageID? {
        switch self {
        case .messageSent(let message), .messageEdited(let message), .messagePinned(let message),
            .messageUnpinned(let message):
            message.id
        case .fileUpdated(let shared): shared.messageID
        case .messageDeleted, .reactionAdded, .reactionRemoved, .channelCreated, .channelUpdated, .channelJoined,
            .channelLeft, .workspaceUpdated, .workspaceDeleted, .memberJoined, .memberUpdated, .memberLeft,
            .userUpdated,
            .callStarted, .callUpdated, .callEnded:
            nil
        }
    }

    /// What it is about, for those who keep an account of who is where.
    fileprivate var subjects: (channel: ChannelID?, user: UserID?) {
        switch self {
        case .messageSent(let message), .messageEdited(let message), .messagePinned(let message),
            .messageUnpinned(let message):
            (message.channelID, nil)
        case .messageDeleted(let deletion): (deletion.channelID, nil)
        case .reactionAdded(let change), .reactionRemoved(let change): (change.channelID, nil)
        case .channelCreated(let channel), .channelUpdated(let channel): (channel.id, nil)
        case .channelJoined(let change), .channelLeft(let change): (change.channel.id, change.user.id)
        case .workspaceUpdated, .workspaceDeleted: (nil, nil)
        case .memberJoined(let member), .memberUpdated(let member): (nil, member.user.id)
        case .memberLeft(let departure): (nil, departure.userID)
        case .userUpdated(let profile): (nil, profile.id)
        case .callStarted(let call), .callUpdated(let call), .callEnded(let call): (call.channelID, nil)
        case .fileUpdated(let shared): (shared.channelID, nil)
        }
    }
}
