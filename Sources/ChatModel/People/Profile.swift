/// Somebody, as everybody in a workspace sees them.
public struct Profile: Codable, Sendable, Equatable {
    public var id: UserID
    /// Unique on the server; what `@` in a message names.
    public var username: String
    public var displayName: String
    /// Nil without a picture; relative to the server.
    public var avatarURL: String?
    /// What the user has chosen. Whether they are connected is told by `presence_changed`.
    public var status: UserStatus
    /// A sentence of theirs; empty for none.
    public var statusText: String
    /// Has left the server for good: what they wrote stays.
    public var isDeactivated: Bool
    public var createdAt: Timestamp
    public var updatedAt: Timestamp

    public init(
        id: UserID, username: String, displayName: String, avatarURL: String? = nil, status: UserStatus = .online,
        statusText: String = "", isDeactivated: Bool = false, createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.id = id
        self.username = username
        self.displayName = displayName
        self.avatarURL = avatarURL
        self.status = status
        self.statusText = statusText
        self.isDeactivated = isDeactivated
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, username, status
        case displayName = "display_name"
        case avatarURL = "avatar_url"
        case statusText = "status_text"
        case isDeactivated = "is_deactivated"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }
}

/// How somebody wants to be seen. `offline` hides that they are connected.
public enum UserStatus: String, Codable, Sendable, CaseIterable {
    case online, away, busy, offline
}

/// Somebody's own account, as they see it themselves.
public struct Account: Codable, Sendable, Equatable {
    public var profile: Profile
    public var email: String
    public var isEmailVerified: Bool
    /// Owns the server: the first account.
    public var isServerOwner: Bool

    public init(profile: Profile, email: String, isEmailVerified: Bool, isServerOwner: Bool) {
        self.profile = profile
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.isServerOwner = isServerOwner
    }

    private enum CodingKeys: String, CodingKey {
        case profile, email
        case isEmailVerified = "is_email_verified"
        case isServerOwner = "is_server_owner"
    }
}

/// A device on which somebody is logged in.
public struct SessionInfo: Codable, Sendable, Equatable {
    public var id: SessionID
    /// What the device calls itself.
    public var device: String
    public var createdAt: Timestamp
    public var lastUsedAt: Timestamp
    /// The one that asks.
    public var isCurrent: Bool

    public init(id: SessionID, device: String, createdAt: Timestamp, lastUsedAt: Timestamp, isCurrent: Bool) {
        self.id = id
        self.device = device
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.isCurrent = isCurrent
    }

    private enum CodingKeys: String, CodingKey {
        case id, device
        case createdAt = "created_at"
        case lastUsedAt = "last_used_at"
        case isCurrent = "is_current"
    }
}

/// What logging in gives: a token for requests, and one for the next pair.
public struct TokenPair: Codable, Sendable, Equatable {
    /// Goes into `Authorization: Bearer …`.
    public var accessToken: String
    /// In seconds, from when it was given out.
    public var expiresIn: Int
    /// For `POST /auth/refresh`, once.
    public var refreshToken: String
    public var account: Account

    public init(accessToken: String, expiresIn: Int, refreshToken: String, account: Account) {
        self.accessToken = accessToken
        self.expiresIn = expiresIn
        self.refreshToken = refreshToken
        self.account = account
    }

    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case expiresIn = "expires_in"
        case refreshToken = "refresh_token"
        case account
    }
}

/// What registering gives.
public struct RegistrationAnswer: Codable, Sendable, Equatable {
    /// Whether the address is to be confirmed, by a link in a letter, before logging in.
    public var isVerificationRequired: Bool

    public init(isVerificationRequired: Bool) { self.isVerificationRequired = isVerificationRequired }

    private enum CodingKeys: String, CodingKey { case isVerificationRequired = "is_verification_required" }
}
