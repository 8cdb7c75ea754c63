/// What somebody has written into a channel.
public struct Message: Codable, Sendable, Equatable {
    public var id: MessageID
    public var workspaceID: WorkspaceID
    public var channelID: ChannelID
    /// Who wrote it.
    public var user: Profile
    /// The message whose thread it is in; nil outside threads.
    public var threadID: MessageID?
    public var kind: MessageKind
    /// Markdown, as it was written; empty once it is deleted.
    public var content: String
    /// The name that the client gave it, by which sending twice is sending once.
    public var clientID: String?
    /// Its place among all messages of the workspace: grows with the order in which they were taken.
    public var sequence: Int64
    public var createdAt: Timestamp
    public var editedAt: Timestamp?
    public var deletedAt: Timestamp?
    public var pinnedAt: Timestamp?
    public var mentions: Mentions
    public var reactions: [Reaction]
    public var files: [FileInfo]
    /// Of a message that shows a call.
    public var call: Call?
    /// Of a message outside threads: the answers, and when the last came.
    public var replyCount: Int
    public var lastReplyAt: Timestamp?
    /// Grows with each edit: its `ETag`.
    public var version: Int64

    public init(
        id: MessageID, workspaceID: WorkspaceID, channelID: ChannelID, user: Profile, threadID: MessageID? = nil,
        kind: MessageKind = .text, content: String, clientID: String? = nil, sequence: Int64, createdAt: Timestamp,
        editedAt: Timestamp? = nil, deletedAt: Timestamp? = nil, pinnedAt: Timestamp? = nil,
        mentions: Mentions = Mentions(), reactions: [Reaction] = [], files: [FileInfo] = [], call: Call? = nil,
        replyCount: Int = 0, lastReplyAt: Timestamp? = nil, version: Int64 = 1
    ) {
        self.id = id
        self.workspaceID = workspaceID
        self.channelID = channelID
        self.user = user
        self.threadID = threadID
        self.kind = kind
        self.content = content
        self.clientID = clientID
        self.sequence = sequence
        self.createdAt = createdAt
        self.editedAt = editedAt
        self.deletedAt = deletedAt
        self.pinnedAt = pinnedAt
        self.mentions = mentions
        self.reactions = reactions
        self.files = files
        self.call = call
        self.replyCount = replyCount
        self.lastReplyAt = lastReplyAt
        self.version = version
    }

    private enum CodingKeys: String, CodingKey {
        case id, user, kind, content, sequence, mentions, reactions, files, call, version
        case workspaceID = "workspace_id"
        case channelID = "channel_id"
        case threadID = "thread_id"
        case clientID = "client_id"
        case createdAt = "created_at"
        case editedAt = "edited_at"
        case deletedAt = "deleted_at"
        case pinnedAt = "pinned_at"
        case replyCount = "reply_count"
        case lastReplyAt = "last_reply_at"
    }
}

public enum MessageKind: String, Codable, Sendable, CaseIterable {
    case text
    /// A call's record.
    case call
    /// Somebody came, left, or changed the channel.
    case system
}

/// Whom a message names, as it was when it was written.
public struct Mentions: Codable, Sendable, Equatable {
    public var userIDs: [UserID]
    /// `@channel`: everybody in the channel.
    public var isChannel: Bool
    /// `@here`: everybody in the channel who was connected.
    public var isHere: Bool

    public init(userIDs: [UserID] = [], isChannel: Bool = false, isHere: Bool = false) {
        self.userIDs = userIDs
        self.isChannel = isChannel
        self.isHere = isHere
    }

    private enum CodingKeys: String, CodingKey {
        case userIDs = "user_ids"
        case isChannel = "channel"
        case isHere = "here"
    }
}

/// All who answered a message with one emoji.
public struct Reaction: Codable, Sendable, Equatable {
    public var emoji: String
    public var count: Int
    /// In the order in which they did.
    public var userIDs: [UserID]

    public init(emoji: String, userIDs: [UserID]) {
        self.emoji = emoji
        count = userIDs.count
        self.userIDs = userIDs
    }

    public mutating func add(_ user: UserID) {
        userIDs.append(user)
        count = userIDs.count
    }

    private enum CodingKeys: String, CodingKey {
        case emoji, count
        case userIDs = "user_ids"
    }
}

/// A file that belongs to a message, or that is to.
public struct FileInfo: Codable, Sendable, Equatable {
    public var id: FileID
    public var name: String
    /// As the sender has said; nothing is served as a page because of it.
    public var mediaType: String
    /// In bytes.
    public var size: Int64
    /// Of a picture, in pixels.
    public var width: Int?
    public var height: Int?
    public var hasThumbnail: Bool
    public var createdAt: Timestamp

    public init(
        id: FileID, name: String, mediaType: String, size: Int64, width: Int? = nil, height: Int? = nil,
        hasThumbnail: Bool = false, createdAt: Timestamp
    ) {
        self.id = id
        self.name = name
        self.mediaType = mediaType
        self.size = size
        self.width = width
        self.height = height
        self.hasThumbnail = hasThumbnail
        self.createdAt = createdAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, name, size, width, height
        case mediaType = "media_type"
        case hasThumbnail = "has_thumbnail"
        case createdAt = "created_at"
    }
}
