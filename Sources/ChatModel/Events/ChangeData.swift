/// What is left of a message that was deleted.
public struct MessageDeletion: Codable, Sendable, Equatable {
    public var messageID: MessageID
    public var channelID: ChannelID
    public var threadID: MessageID?
    public var deletedAt: Timestamp

    public init(messageID: MessageID, channelID: ChannelID, threadID: MessageID?, deletedAt: Timestamp) {
        self.messageID = messageID
        self.channelID = channelID
        self.threadID = threadID
        self.deletedAt = deletedAt
    }

    private enum CodingKeys: String, CodingKey {
        case messageID = "message_id"
        case channelID = "channel_id"
        case threadID = "thread_id"
        case deletedAt = "deleted_at"
    }
}

/// Somebody has answered a message with an emoji, or has taken it back.
public struct ReactionChange: Codable, Sendable, Equatable {
    public var messageID: MessageID
    public var channelID: ChannelID
    public var userID: UserID
    /// All of this emoji, after the change; its count is 0 when none is left.
    public var reaction: Reaction

    public init(messageID: MessageID, channelID: ChannelID, userID: UserID, reaction: Reaction) {
        self.messageID = messageID
        self.channelID = channelID
        self.userID = userID
        self.reaction = reaction
    }

    private enum CodingKeys: String, CodingKey {
        case reaction
        case messageID = "message_id"
        case channelID = "channel_id"
        case userID = "user_id"
    }
}

/// Somebody has come into a channel or has left it. Who comes gets the channel by it, and who is removed loses it.
public struct ChannelPresenceChange: Codable, Sendable, Equatable {
    public var channel: Channel
    public var user: Profile

    public init(channel: Channel, user: Profile) {
        self.channel = channel
        self.user = user
    }
}

/// How far somebody has read a channel.
public struct ReadMark: Codable, Sendable, Equatable {
    public var channelID: ChannelID
    /// The number of the newest message that they have read.
    public var lastRead: Int64

    public init(channelID: ChannelID, lastRead: Int64) {
        self.channelID = channelID
        self.lastRead = lastRead
    }

    private enum CodingKeys: String, CodingKey {
        case channelID = "channel_id"
        case lastRead = "last_read"
    }
}

/// Somebody is not in a workspace any more.
public struct MemberDeparture: Codable, Sendable, Equatable {
    public var userID: UserID

    public init(userID: UserID) { self.userID = userID }

    private enum CodingKeys: String, CodingKey { case userID = "user_id" }
}

/// What is left of a workspace that was deleted.
public struct WorkspaceDeletion: Codable, Sendable, Equatable {
    public var workspaceID: WorkspaceID

    public init(workspaceID: WorkspaceID) { self.workspaceID = workspaceID }

    private enum CodingKeys: String, CodingKey { case workspaceID = "workspace_id" }
}
