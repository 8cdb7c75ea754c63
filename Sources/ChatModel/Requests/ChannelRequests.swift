/// The body of `POST /workspaces/{workspace_id}/channels`.
public struct CreateChannelRequest: Codable, Sendable, Equatable {
    /// `public` if it is left out.
    public var kind: ChannelKind?
    public var name: String
    public var topic: String?
    public var purpose: String?

    public init(kind: ChannelKind? = nil, name: String, topic: String? = nil, purpose: String? = nil) {
        self.kind = kind
        self.name = name
        self.topic = topic
        self.purpose = purpose
    }
}

/// The body of `POST /workspaces/{workspace_id}/direct`.
public struct OpenDirectRequest: Codable, Sendable, Equatable {
    /// Besides who asks.
    public var userIDs: [UserID]

    public init(userIDs: [UserID]) {
        self.userIDs = userIDs
    }

    private enum CodingKeys: String, CodingKey {
        case userIDs = "user_ids"
    }
}

/// The body of `PATCH /channels/{channel_id}`: what is left out stays.
public struct ChangeChannelRequest: Codable, Sendable, Equatable {
    public var name: String?
    public var topic: String?
    public var purpose: String?

    public init(name: String? = nil, topic: String? = nil, purpose: String? = nil) {
        self.name = name
        self.topic = topic
        self.purpose = purpose
    }
}

/// The body of `POST /channels/{channel_id}/members`.
public struct AddToChannelRequest: Codable, Sendable, Equatable {
    public var userID: UserID

    public init(userID: UserID) {
        self.userID = userID
    }

    private enum CodingKeys: String, CodingKey {
        case userID = "user_id"
    }
}

/// The body of `PUT /channels/{channel_id}/read`.
public struct ReadRequest: Codable, Sendable, Equatable {
    /// The number of the newest message that was read.
    public var lastRead: Int64

    public init(lastRead: Int64) {
        self.lastRead = lastRead
    }

    private enum CodingKeys: String, CodingKey {
        case lastRead = "last_read"
    }
}

/// The body of `PUT /channels/{channel_id}/notifications`.
public struct NotificationsRequest: Codable, Sendable, Equatable {
    public var notifications: NotificationLevel

    public init(notifications: NotificationLevel) {
        self.notifications = notifications
    }
}
