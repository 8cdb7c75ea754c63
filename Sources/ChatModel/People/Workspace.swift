/// A team's place: its people and its channels.
public struct Workspace: Codable, Sendable, Equatable {
    public var id: WorkspaceID
    public var name: String
    /// Its name in addresses: unique on the server.
    public var slug: String
    public var createdAt: Timestamp
    public var updatedAt: Timestamp

    public init(id: WorkspaceID, name: String, slug: String, createdAt: Timestamp, updatedAt: Timestamp) {
        self.id = id
        self.name = name
        self.slug = slug
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, name, slug
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }
}

/// What somebody is in a workspace. Guests see the channels that they were put into, and nothing else.
public enum Role: String, Codable, Sendable, CaseIterable {
    case owner, admin, member, guest
}

/// Somebody in a workspace.
public struct Member: Codable, Sendable, Equatable {
    public var user: Profile
    public var role: Role
    public var joinedAt: Timestamp

    public init(user: Profile, role: Role, joinedAt: Timestamp) {
        self.user = user
        self.role = role
        self.joinedAt = joinedAt
    }

    private enum CodingKeys: String, CodingKey {
        case user, role
        case joinedAt = "joined_at"
    }
}

/// A workspace, and what the one who asks is in it.
public struct WorkspaceListing: Codable, Sendable, Equatable {
    public var workspace: Workspace
    public var role: Role
    /// The number of the newest event: from here on the realtime socket goes on.
    public var sequence: Int64
    /// Threads that they follow and in which there are answers that they have not read, at most
    /// `ChannelMembership.unreadLimit`.
    public var unreadThreads: Int

    public init(workspace: Workspace, role: Role, sequence: Int64, unreadThreads: Int = 0) {
        self.workspace = workspace
        self.role = role
        self.sequence = sequence
        self.unreadThreads = unreadThreads
    }

    private enum CodingKeys: String, CodingKey {
        case workspace, role, sequence
        case unreadThreads = "unread_threads"
    }
}

/// A way into a workspace: by a link for whoever has it, or for one address.
public struct Invitation: Codable, Sendable, Equatable {
    public var id: InvitationID
    /// Whom it is for; nil for a link.
    public var email: String?
    public var role: Role
    /// What a guest is put into.
    public var channelIDs: [ChannelID]
    public var createdBy: UserID
    public var createdAt: Timestamp
    public var expiresAt: Timestamp
    /// How often it was used, and may be at most; nil for without end.
    public var uses: Int
    public var maximumUses: Int?
    /// The secret of the link. Told once, to who makes the invitation.
    public var token: String?

    public init(
        id: InvitationID, email: String?, role: Role, channelIDs: [ChannelID], createdBy: UserID,
        createdAt: Timestamp, expiresAt: Timestamp, uses: Int, maximumUses: Int?, token: String? = nil
    ) {
        self.id = id
        self.email = email
        self.role = role
        self.channelIDs = channelIDs
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.uses = uses
        self.maximumUses = maximumUses
        self.token = token
    }

    private enum CodingKeys: String, CodingKey {
        case id, email, role, uses, token
        case channelIDs = "channel_ids"
        case createdBy = "created_by"
        case createdAt = "created_at"
        case expiresAt = "expires_at"
        case maximumUses = "maximum_uses"
    }
}

/// What the link of an invitation leads to, for whoever has it.
public struct InvitationPreview: Codable, Sendable, Equatable {
    public var workspaceName: String
    public var role: Role
    /// Whom it is for; nil for whoever has the link.
    public var email: String?

    public init(workspaceName: String, role: Role, email: String?) {
        self.workspaceName = workspaceName
        self.role = role
        self.email = email
    }

    private enum CodingKeys: String, CodingKey {
        case workspaceName = "workspace_name"
        case role, email
    }
}
