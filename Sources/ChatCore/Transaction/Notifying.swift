package import ChatModel
package import Foundation

/// When somebody wants notifications.
extension ChatTransaction {
    private static let settingColumns =
        "s.push_when, s.show_preview, s.quiet_from, s.quiet_to, s.quiet_zone, s.quiet_days"

    /// - Parameter row: of a table that may have had nothing to join with.
    private static func settings(_ row: inout SQLRow) throws -> NotificationSettings {
        guard let when = try row.textOrNull() else {
            for _ in 0..<5 { _ = try row.textOrNull() }
            return .usual
        }
        guard let pushWhen = PushWhen(rawValue: when) else { throw SQLRowFault(column: 0, expected: "a PushWhen") }
        let showPreview = try row.flag()
        let (from, to) = (try row.intOrNull(), try row.intOrNull())
        let (zone, days) = (try row.textOrNull(), try row.textOrNull())
        var quietHours: QuietHours?
        if let from = from.flatMap({ TimeOfDay(minutes: $0) }), let to = to.flatMap({ TimeOfDay(minutes: $0) }),
            let zone
        {
            quietHours = QuietHours(
                from: from, to: to, timeZone: zone,
                days: days.map { Set($0.split(separator: " ").compactMap { Weekday(rawValue: String($0)) }) })
        }
        return NotificationSettings(quietHours: quietHours, pushWhen: pushWhen, showPreview: showPreview)
    }

    package func notificationSettings(of user: UserID) throws -> NotificationSettings {
        guard
            var row = try session.row(
                "SELECT \(Self.settingColumns) FROM notification_settings s WHERE s.user_id = $1", .id(user))
        else { return .usual }
        return try Self.settings(&row)
    }

    /// Grows with each change of them; 0 for whoever has said nothing.
    package func notificationVersion(of user: UserID) throws -> Int64 {
        guard var row = try session.row("SELECT version FROM notification_settings WHERE user_id = $1", .id(user))
        else {
            return 0
        }
        return try row.integer()
    }

    /// - Parameter version: of the settings that whoever asks has seen; nil to change whatever is there.
    package func setNotificationSettings(
        _ settings: NotificationSettings, ifVersion version: Int64? = nil, of user: UserID
    ) throws {
        try settings.quietHours?.check()
        if let version, try version != notificationVersion(of: user) { throw ChatError.outdated }
        let quiet = settings.quietHours
        let days = quiet?.days.map { days in
            Weekday.allCases.filter { days.contains($0) }.map(\.rawValue).joined(separator: " ")
        }
        // On PostgreSQL another device may have changed them since they were looked at.
        let condition = version == nil ? "" : "WHERE notification_settings.version = $9"
        let changed = try session.run(
            """
            INSERT INTO notification_settings
                (user_id, push_when, show_preview, quiet_from, quiet_to, quiet_zone, quiet_days, updated_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (user_id) DO UPDATE SET push_when = $2, show_preview = $3, quiet_from = $4, quiet_to = $5,
                quiet_zone = $6, quiet_days = $7, updated_at = $8, version = notification_settings.version + 1
                \(condition)
            """,
            [
                .id(user), .name(settings.pushWhen), .flag(settings.showPreview),
                quiet.map { .integer($0.from.minutes) } ?? .null, quiet.map { .integer($0.to.minutes) } ?? .null,
                .text(quiet?.timeZone), .text(days), .time(now),
            ] + (version.map { [.integer($0)] } ?? []))
        guard changed == 1 else { throw ChatError.outdated }
    }
}

/// Whom a message may be pushed to, and what is known of them for `NotificationRule`.
package struct NotificationCandidate: Sendable, Equatable {
    package let user: UserID
    /// All but whether they are connected.
    package var facts: NotificationFacts
    package let showsPreview: Bool
}

/// A device's token that a push goes to.
package struct PushAddress: Sendable, Equatable {
    package let device: DeviceID
    package let user: UserID
    package let appID: String
    package let environment: PushEnvironment
    package let alertToken: String?
    package let voipToken: String?
    /// Whether the app's icon is known to show no number.
    package var iconIsClear = false
}

/// Who is to be told of what has happened.
extension ChatTransaction {
    /// Those in a message's channel who have a device, as things stand now.
    ///
    /// - Parameter only: of this one alone.
    package func notificationCandidates(
        for message: Message, only: UserID? = nil
    ) throws -> [NotificationCandidate] {
        let channel = try channel(message.channelID)
        let named = try users("SELECT user_id FROM mentions WHERE message_id = $1 AND by_here <> 1", .id(message.id))
        let calledByHere = try message.mentions.isHere ? calledByHere(message.id) : []
        let followers = try message.threadID.map { try self.followers(of: $0) } ?? [:]
        return try session.rows(
            """
            SELECT cm.user_id, cm.notifications, cm.last_read, u.status, \(Self.settingColumns)
            FROM channel_members cm JOIN users u ON u.id = cm.user_id
            JOIN members m ON m.workspace_id = $2 AND m.user_id = cm.user_id
            LEFT JOIN notification_settings s ON s.user_id = cm.user_id
            WHERE cm.channel_id = $1 AND u.deactivated_at IS NULL
                AND EXISTS (SELECT 1 FROM devices d WHERE d.user_id = cm.user_id)
                AND cm.user_id = COALESCE($3, cm.user_id)
            ORDER BY cm.user_id
            """, .id(message.channelID), .id(message.workspaceID), only.map { .id($0) } ?? .null
        ).map {
            var row = $0
            let user: UserID = try row.id()
            var facts = NotificationFacts()
            facts.level = try row.name()
            // How far somebody has read the channel says nothing of threads.
            let (lastRead, follower) = (try row.integer(), followers[user])
            facts.isRead = (message.threadID == nil ? lastRead : follower?.lastRead ?? 0) >= message.sequence
            facts.status = try row.name()
            let settings = try Self.settings(&row)
            facts.pushWhen = settings.pushWhen
            facts.isQuiet = settings.quietHours?.contain(now) ?? false
            facts.isAuthor = user == message.user.id
            facts.isDirect = channel.kind.isDirect
            facts.isNamed = named.contains(user)
            facts.mentionsChannel = message.mentions.isChannel
            facts.mentionsHere = calledByHere.contains(user)
            facts.isInThread = message.threadID != nil
            facts.followsThread = follower?.isFollowing
            return NotificationCandidate(user: user, facts: facts, showsPreview: settings.showPreview)
        }
    }

    /// Whom a message's `@here` has called.
    func calledByHere(_ message: MessageID) throws -> Set<UserID> {
        try users("SELECT user_id FROM mentions WHERE message_id = $1 AND by_here > 0", .id(message))
    }

    private func users(_ sql: String, _ argument: SQLValue) throws -> Set<UserID> {
        Set(
            try session.rows(sql, argument).map {
                var row = $0
                return try row.id()
            })
    }

    /// The name of a channel and whether it is a direct or group message, for a notification's words.
    package func place(of message: Message) throws -> (kind: ChannelKind, name: String?) {
        let channel = try channel(message.channelID)
        return (channel.kind, channel.name)
    }

    /// A message that somebody may have been told of and has not read; nil when it is deleted, or they have left its
    /// channel or want no notifications of it.
    package func unreadMessage(_ id: MessageID, for user: UserID) throws -> Message? {
        let found = try session.row(
            """
            SELECT 1 FROM messages m
            JOIN members w ON w.workspace_id = m.workspace_id AND w.user_id = $2
            JOIN channel_members cm ON cm.channel_id = m.channel_id AND cm.user_id = $2
            LEFT JOIN thread_followers f ON f.thread_id = m.thread_id AND f.user_id = $2
            WHERE m.id = $1 AND m.deleted_at IS NULL AND cm.notifications <> 'none'
                AND m.sequence > CASE WHEN m.thread_id IS NULL THEN cm.last_read ELSE COALESCE(f.last_read, 0) END
            """, .id(id), .id(user))
        return found == nil ? nil : try message(id)
    }

    /// Where somebody is pushed to: the devices of sessions that last.
    package func pushAddresses(of user: UserID) throws -> [PushAddress] {
        try session.rows(
            """
            SELECT d.id, d.app_id, d.environment, d.alert_token, d.voip_token, d.icon_is_clear FROM devices d
            JOIN sessions x ON x.id = d.session_id JOIN users u ON u.id = d.user_id
            WHERE d.user_id = $1 AND x.ended_at IS NULL AND x.expires_at > $2 AND u.deactivated_at IS NULL
            ORDER BY d.id
            """, .id(user), .time(now)
        ).map {
            var row = $0
            return PushAddress(
                device: try row.id(), user: user, appID: try row.text(), environment: try row.name(),
                alertToken: try row.textOrNull(), voipToken: try row.textOrNull(), iconIsClear: try row.flag())
        }
    }

    /// What an app's icon shows: unread messages that name somebody, or everybody, or called who was there when they
    /// were, and unread direct and group messages, in all workspaces, but for channels that they want no notifications
    /// of; of those in threads, what is unread in a thread that they follow.
    package func badge(of user: UserID) throws -> Int {
        guard
            var row = try session.row(
                """
                SELECT COUNT(*) FROM (
                    SELECT m.id FROM channel_members cm JOIN channels c ON c.id = cm.channel_id
                    JOIN members w ON w.workspace_id = c.workspace_id AND w.user_id = cm.user_id
                    JOIN messages m ON m.channel_id = cm.channel_id AND m.thread_id IS NULL
                        AND m.sequence > cm.last_read
                    WHERE cm.user_id = $1 AND cm.notifications <> 'none' AND c.people_key IS NOT NULL
                        AND m.user_id <> $1 AND m.deleted_at IS NULL
                    UNION
                    SELECT m.id FROM channel_members cm JOIN channels c ON c.id = cm.channel_id
                    JOIN members w ON w.workspace_id = c.workspace_id AND w.user_id = cm.user_id
                    JOIN messages m ON m.channel_id = cm.channel_id AND m.thread_id IS NULL
                        AND m.mentions_channel + m.mentions_here > 0 AND m.mentions_channel = 1
                        AND m.sequence > cm.last_read
                    WHERE cm.user_id = $1 AND cm.notifications <> 'none' AND m.user_id <> $1
                    UNION
                    SELECT n.message_id FROM channel_members cm JOIN channels c ON c.id = cm.channel_id
                    JOIN members w ON w.workspace_id = c.workspace_id AND w.user_id = cm.user_id
                    JOIN mentions n ON n.user_id = cm.user_id AND n.channel_id = cm.channel_id
                        AND n.thread_id IS NULL AND n.sequence > cm.last_read
                    WHERE cm.user_id = $1 AND cm.notifications <> 'none'
                    UNION
                    SELECT m.id FROM thread_followers f JOIN channels c ON c.id = f.channel_id
                    JOIN channel_members cm ON cm.channel_id = f.channel_id AND cm.user_id = f.user_id
                    JOIN members w ON w.workspace_id = c.workspace_id AND w.user_id = f.user_id
                    JOIN messages m ON m.thread_id = f.thread_id AND m.sequence > f.last_read
                    WHERE f.user_id = $1 AND f.is_following = 1 AND f.last_reply > f.last_read
                        AND cm.notifications <> 'none' AND m.user_id <> $1 AND m.deleted_at IS NULL
                        AND (c.people_key IS NOT NULL OR m.mentions_channel = 1 OR EXISTS (
                            SELECT 1 FROM mentions n WHERE n.message_id = m.id AND n.user_id = f.user_id))
                    LIMIT \(ChannelMembership.unreadLimit)) unread
                """, .id(user))
        else { return 0 }
        return try row.int()
    }
}

/// How far the log of each workspace has been read for notifications, and who reads it.
extension ChatTransaction {
    package enum Lease: Sendable, Equatable {
        /// Nobody else has had it since.
        case kept
        /// Somebody else has had it, or nobody.
        case taken
        /// Somebody else has it.
        case refused
    }

    /// Whose turn it is to do what is done once for all servers of a database.
    ///
    /// - Returns: whether `holder` has it now, until `lifetime` has passed.
    package func takeLease(_ name: String, holder: UUID, for lifetime: Duration) throws -> Lease {
        let kept = try session.run(
            "UPDATE leases SET expires_at = $3 WHERE name = $1 AND holder = $2", .text(name), .uuid(holder),
            .time(now.advanced(by: lifetime)))
        if kept == 1 { return .kept }
        let taken = try session.run(
            """
            INSERT INTO leases (name, holder, expires_at) VALUES ($1, $2, $3)
            ON CONFLICT (name) DO UPDATE SET holder = $2, expires_at = $3
                WHERE leases.expires_at <= $4
            """, .text(name), .uuid(holder), .time(now.advanced(by: lifetime)), .time(now))
        return taken == 1 ? .taken : .refused
    }

    package func giveUpLease(_ name: String, holder: UUID) throws {
        try session.run("DELETE FROM leases WHERE name = $1 AND holder = $2", .text(name), .uuid(holder))
    }

    /// Up to which event everything has been pushed; 0 for a workspace that nothing was pushed of yet.
    package func pushPosition(of workspace: WorkspaceID) throws -> Int64 {
        guard
            var row = try session.row("SELECT sequence FROM push_positions WHERE workspace_id = $1", .id(workspace))
        else { return 0 }
        return try row.integer()
    }

    package func setPushPosition(_ sequence: Int64, of workspace: WorkspaceID) throws {
        try session.run(
            """
            INSERT INTO push_positions (workspace_id, sequence) VALUES ($1, $2)
            ON CONFLICT (workspace_id) DO UPDATE SET sequence = $2
            """, .id(workspace), .integer(sequence))
    }

    /// Workspaces, and the number of the newest event of each.
    package func newestEvents() throws -> [WorkspaceID: Int64] {
        try session.rows("SELECT id, sequence FROM workspaces WHERE deleted_at IS NULL").reduce(into: [:]) {
            newest, row in
            var row = row
            newest[try row.id()] = try row.integer()
        }
    }

    /// Events of new messages after a number, and not from before a time.
    package func newMessages(
        of workspace: WorkspaceID, after sequence: Int64, since time: Timestamp, limit: Int
    ) throws -> [StoredEvent] {
        try session.rows(
            """
            SELECT \(Self.eventColumns) FROM events e
            WHERE e.workspace_id = $1 AND e.sequence > $2 AND e.kind = 'message_sent' AND e.created_at >= $3
            ORDER BY e.sequence LIMIT $4
            """, .id(workspace), .integer(sequence), .time(time), .integer(limit)
        ).map {
            var row = $0
            return try Self.event(&row)
        }
    }
}
