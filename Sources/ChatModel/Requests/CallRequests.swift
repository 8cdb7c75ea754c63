/// The body of `POST /channels/{channel_id}/calls`.
public struct StartCallRequest: Codable, Sendable, Equatable {
    /// `room` if it is left out.
    public var kind: CallKind?
    /// `audio` if it is left out.
    public var media: CallMedia?
    /// Who is rung. If it is left out: in direct and group messages everybody, in channels nobody.
    public var ring: [UserID]?

    public init(kind: CallKind? = nil, media: CallMedia? = nil, ring: [UserID]? = nil) {
        self.kind = kind
        self.media = media
        self.ring = ring
    }
}

/// The body of `POST /workspaces/{workspace_id}/calls`: calls one person, in the direct messages with them.
public struct CallPersonRequest: Codable, Sendable, Equatable {
    public var userID: UserID
    /// `room` if it is left out.
    public var kind: CallKind?
    /// `audio` if it is left out.
    public var media: CallMedia?

    public init(userID: UserID, kind: CallKind? = nil, media: CallMedia? = nil) {
        self.userID = userID
        self.kind = kind
        self.media = media
    }

    private enum CodingKeys: String, CodingKey {
        case kind, media
        case userID = "user_id"
    }
}

/// The body of `POST /calls/{call_id}/ring`.
public struct RingRequest: Codable, Sendable, Equatable {
    public var userIDs: [UserID]

    public init(userIDs: [UserID]) {
        self.userIDs = userIDs
    }

    private enum CodingKeys: String, CodingKey {
        case userIDs = "user_ids"
    }
}
