/// Where messages go.
public struct Channel: Codable, Sendable, Equatable {
    public var id: ChannelID
    public var workspaceID: WorkspaceID
    public var kind: ChannelKind
    /// Nil for direct and group messages, which are named by who is in them.
    public var name: String?
    public var topic: String
    public var purpose: String
    /// For direct and group messages, who is in it; empty for channels with a name.
    public var userIDs: [UserID]
    public var isArchived: Bool
    public var createdBy: UserID
    public var createdAt: Timestamp
    public var updatedAt: Timestamp
    /// Grows with each change of this channel's own words: its `ETag`.
    public var version: Int64

    public init(
        id: ChannelID, workspaceID: WorkspaceID, kind: ChannelKind, name: String?, topic: String = "",
        purpose: String = "", userIDs: [UserID] = [], isArchived: Bool = false, createdBy: UserID,
        createdAt: Timestamp, updatedAt: Timestamp, version: Int64 = 1
    ) {
        self.id = id
        self.workspaceID = workspaceID
        self.kind = kind
        self.name = name
        self.topic = topic
        self.purpose = purpose
        self.userIDs = userIDs
        self.isArchived = isArchived
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.version = version
    }

    private enum CodingKeys: String, CodingKey {
        case id, kind, name, topic, purpose, version
        case workspaceID = "workspace_id"
        case userIDs = "user_ids"
        case isArchived = "is_archived"
        case createdBy = "created_by"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }
}

public enum ChannelKind: String, Codable, Sendable, CaseIterable {
    /// Everybody in the workspace but guests finds and joins it.
    case `public`
    /// Whoever is in it brings others in; to others it is as if it were not there.
    case `private`
    /// Two people, or one alone with themselves.
    case direct
    /// Three to nine people.
    case group

    /// Direct and group messages: who is in them never changes.
    public var isDirect: Bool { self == .direct || self == .group }
}

/// Somebody's place in a channel, theirs alone to see.
public struct ChannelMembership: Codable, Sendable, Equatable {
    public var joinedAt: Timestamp
    /// The number of the newest message that they have read; 0 before the first.
    public var lastRead: Int64
    /// Messages of others after that, outside threads; `unreadLimit` for that many or more.
    public var unread: Int
    /// Those of them that name the reader, or everybody, or by `@here` who was there while they were; counted to the
    /// same limit.
    public var mentions: Int
    public var notifications: NotificationLevel

    /// What is counted at most.
    public static let unreadLimit = 1_000

    public init(
        joinedAt: Timestamp, lastRead: Int64, unread: Int, mentions: Int, notifications: NotificationLevel
    ) {
        self.joinedAt = joinedAt
        self.lastRead = lastRead
        self.unread = unread
        self.mentions = mentions
        self.notifications = notifications
    }

    private enum CodingKeys: String, CodingKey {
        case unread, mentions, notifications
        case joinedAt = "joined_at"
        case lastRead = "last_read"
    }
}

/// Of which messages of a channel somebody wants a notification.
public enum NotificationLevel: String, Codable, Sendable, CaseIterable {
    case all, mentions, none
}

/// A channel, and the place in it of the one who asks; nil where they are not in it.
public struct ChannelListing: Codable, Sendable, Equatable {
    public var channel: Channel
    public var memberCount: Int
    /// The number of the newest message; 0 without any.
    public var lastMessage: Int64
    public var membership: ChannelMembership?

    public init(channel: Channel, memberCount: Int, lastMessage: Int64, membership: ChannelMembership?) {
        self.channel = channel
        self.memberCount = memberCount
        self.lastMessage = lastMessage
        self.membership = membership
    }

    private enum CodingKeys: String, CodingKey {
        case channel, membership
        case memberCount = "member_count"
        case lastMessage = "last_message"
    }
}
