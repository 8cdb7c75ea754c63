/// The body of `POST /auth/register`.
public struct RegisterRequest: Codable, Sendable, Equatable {
    public var email: String
    public var username: String
    public var displayName: String
    public var password: String
    /// The secret of an invitation: needed where registration is closed, and accepted with the account.
    public var invitation: String?

    public init(email: String, username: String, displayName: String, password: String, invitation: String? = nil) {
        self.email = email
        self.username = username
        self.displayName = displayName
        self.password = password
        self.invitation = invitation
    }

    private enum CodingKeys: String, CodingKey {
        case email, username, password, invitation
        case displayName = "display_name"
    }
}

/// The body of `POST /auth/login`.
public struct LoginRequest: Codable, Sendable, Equatable {
    /// An e-mail address or a username.
    public var login: String
    public var password: String
    /// What the device calls itself; the user agent otherwise.
    public var device: String?

    public init(login: String, password: String, device: String? = nil) {
        self.login = login
        self.password = password
        self.device = device
    }
}

/// The body of `POST /auth/refresh` and `POST /auth/logout`.
public struct RefreshRequest: Codable, Sendable, Equatable {
    public var refreshToken: String

    public init(refreshToken: String) {
        self.refreshToken = refreshToken
    }

    private enum CodingKeys: String, CodingKey {
        case refreshToken = "refresh_token"
    }
}

/// The body of `POST /auth/forgot_password` and `POST /auth/resend_verification`.
public struct EmailRequest: Codable, Sendable, Equatable {
    public var email: String

    public init(email: String) {
        self.email = email
    }
}

/// The body of `POST /auth/verify_email` and `POST /invitations/accept`.
public struct TokenRequest: Codable, Sendable, Equatable {
    /// The secret of the link.
    public var token: String

    public init(token: String) {
        self.token = token
    }
}

/// The body of `POST /auth/reset_password`.
public struct ResetPasswordRequest: Codable, Sendable, Equatable {
    /// The secret of the link.
    public var token: String
    public var password: String

    public init(token: String, password: String) {
        self.token = token
        self.password = password
    }
}

/// The body of `POST /auth/change_password`.
public struct ChangePasswordRequest: Codable, Sendable, Equatable {
    public var currentPassword: String
    public var password: String

    public init(currentPassword: String, password: String) {
        self.currentPassword = currentPassword
        self.password = password
    }

    private enum CodingKeys: String, CodingKey {
        case password
        case currentPassword = "current_password"
    }
}

/// The body of `PATCH /users/me`: what is left out stays.
public struct ChangeProfileRequest: Codable, Sendable, Equatable {
    public var username: String?
    public var displayName: String?
    public var status: UserStatus?
    public var statusText: String?

    public init(
        username: String? = nil, displayName: String? = nil, status: UserStatus? = nil, statusText: String? = nil
    ) {
        self.username = username
        self.displayName = displayName
        self.status = status
        self.statusText = statusText
    }

    private enum CodingKeys: String, CodingKey {
        case username, status
        case displayName = "display_name"
        case statusText = "status_text"
    }
}
