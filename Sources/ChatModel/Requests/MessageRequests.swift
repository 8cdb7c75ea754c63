/// The body of `POST /channels/{channel_id}/messages`.
public struct SendMessageRequest: Codable, Sendable, Equatable {
    /// May be empty where there are files.
    public var content: String
    public var threadID: MessageID?
    /// A name of the client's choosing: sending it again is sending it once.
    public var clientID: String?
    /// Files that were uploaded for it, in their order.
    public var fileIDs: [FileID]?

    public init(
        content: String, threadID: MessageID? = nil, clientID: String? = nil, fileIDs: [FileID]? = nil
    ) {
        self.content = content
        self.threadID = threadID
        self.clientID = clientID
        self.fileIDs = fileIDs
    }

    private enum CodingKeys: String, CodingKey {
        case content
        case fileIDs = "file_ids"
        case threadID = "thread_id"
        case clientID = "client_id"
    }
}

/// The body of `PATCH /messages/{message_id}`.
public struct EditMessageRequest: Codable, Sendable, Equatable {
    public var content: String

    public init(content: String) {
        self.content = content
    }
}
