/// A thread that somebody follows, as their list of threads shows it.
public struct ThreadListing: Codable, Sendable, Equatable {
    /// The message that it answers, with how many answers there are and when the last came.
    public var message: Message
    /// The number of the newest answer.
    public var lastReply: Int64
    /// The number of the newest answer that the reader has read; 0 for none.
    public var lastRead: Int64
    /// Answers by others behind that, at most `ChannelMembership.unreadLimit`.
    public var unread: Int

    public init(message: Message, lastReply: Int64, lastRead: Int64, unread: Int) {
        self.message = message
        self.lastReply = lastReply
        self.lastRead = lastRead
        self.unread = unread
    }

    private enum CodingKeys: String, CodingKey {
        case message, unread
        case lastReply = "last_reply"
        case lastRead = "last_read"
    }
}

/// How far somebody has read a thread, and whether they follow it.
public struct ThreadMark: Codable, Sendable, Equatable {
    /// The message that the thread answers.
    public var threadID: MessageID
    public var channelID: ChannelID
    /// The number of the newest answer that they have read.
    public var lastRead: Int64
    public var isFollowing: Bool

    public init(threadID: MessageID, channelID: ChannelID, lastRead: Int64, isFollowing: Bool) {
        self.threadID = threadID
        self.channelID = channelID
        self.lastRead = lastRead
        self.isFollowing = isFollowing
    }

    private enum CodingKeys: String, CodingKey {
        case threadID = "thread_id"
        case channelID = "channel_id"
        case lastRead = "last_read"
        case isFollowing = "is_following"
    }
}
