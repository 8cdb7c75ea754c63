/// A file that is on its way to the server, in parts.
public struct FileUpload: Codable, Sendable, Equatable {
    /// Also the identifier of the file that it becomes.
    public var id: FileID
    /// As it is kept: what a name may not have has been taken out.
    public var name: String
    public var mediaType: String
    /// Of the whole file, in bytes.
    public var size: Int64
    /// How many bytes are there: where the next part begins.
    public var offset: Int64
    /// The largest part of one request, in bytes.
    public var partSize: Int
    public var expiresAt: Timestamp

    public init(
        id: FileID, name: String, mediaType: String, size: Int64, offset: Int64, partSize: Int, expiresAt: Timestamp
    ) {
        self.id = id
        self.name = name
        self.mediaType = mediaType
        self.size = size
        self.offset = offset
        self.partSize = partSize
        self.expiresAt = expiresAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, name, size, offset
        case mediaType = "media_type"
        case partSize = "part_size"
        case expiresAt = "expires_at"
    }
}

/// A link to a file's bytes, for anybody who has it, for a while.
public struct FileLink: Codable, Sendable, Equatable {
    /// A path on this server, or the URL of the store that has the file.
    public var url: String
    public var expiresAt: Timestamp

    public init(url: String, expiresAt: Timestamp) {
        self.url = url
        self.expiresAt = expiresAt
    }

    private enum CodingKeys: String, CodingKey {
        case url
        case expiresAt = "expires_at"
    }
}

/// A file, and the message that it came with.
public struct SharedFile: Codable, Sendable, Equatable {
    public var file: FileInfo
    public var channelID: ChannelID
    public var messageID: MessageID
    /// Who sent it.
    public var userID: UserID

    public init(file: FileInfo, channelID: ChannelID, messageID: MessageID, userID: UserID) {
        self.file = file
        self.channelID = channelID
        self.messageID = messageID
        self.userID = userID
    }

    private enum CodingKeys: String, CodingKey {
        case file
        case channelID = "channel_id"
        case messageID = "message_id"
        case userID = "user_id"
    }
}
