/// The body of `POST /workspaces`.
public struct CreateWorkspaceRequest: Codable, Sendable, Equatable {
    public var name: String
    /// Nil for one made of the name.
    public var slug: String?

    public init(name: String, slug: String? = nil) {
        self.name = name
        self.slug = slug
    }
}

/// The body of `PATCH /workspaces/{workspace_id}`.
public struct ChangeWorkspaceRequest: Codable, Sendable, Equatable {
    public var name: String

    public init(name: String) {
        self.name = name
    }
}

/// The body of `PATCH /workspaces/{workspace_id}/members/{user_id}`.
public struct ChangeMemberRequest: Codable, Sendable, Equatable {
    public var role: Role

    public init(role: Role) {
        self.role = role
    }
}

/// The body of `POST /workspaces/{workspace_id}/invitations`.
public struct CreateInvitationRequest: Codable, Sendable, Equatable {
    /// For this address alone, to which it is sent; nil for a link for whoever has it.
    public var email: String?
    /// `member` if it is left out.
    public var role: Role?
    public var channelIDs: [ChannelID]?
    public var maximumUses: Int?

    public init(email: String? = nil, role: Role? = nil, channelIDs: [ChannelID]? = nil, maximumUses: Int? = nil) {
        self.email = email
        self.role = role
        self.channelIDs = channelIDs
        self.maximumUses = maximumUses
    }

    private enum CodingKeys: String, CodingKey {
        case email, role
        case channelIDs = "channel_ids"
        case maximumUses = "maximum_uses"
    }
}
