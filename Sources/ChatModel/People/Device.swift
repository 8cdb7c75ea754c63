/// An app on a device of somebody's, to which notifications are pushed. It lasts as long as the session that has
/// registered it.
public struct Device: Codable, Sendable, Equatable {
    public var id: DeviceID
    public var platform: DevicePlatform
    /// The app's bundle identifier.
    public var appID: String
    public var environment: PushEnvironment
    /// As the device is called; empty for none.
    public var name: String
    /// Which of the two tokens there are. The tokens themselves are told to nobody.
    public var hasAlertToken: Bool
    public var hasVoIPToken: Bool
    /// Whether it belongs to the session that asks.
    public var isCurrent: Bool
    public var createdAt: Timestamp
    /// When it was registered for the last time.
    public var updatedAt: Timestamp

    public init(
        id: DeviceID, platform: DevicePlatform, appID: String, environment: PushEnvironment, name: String,
        hasAlertToken: Bool, hasVoIPToken: Bool, isCurrent: Bool, createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.id = id
        self.platform = platform
        self.appID = appID
        self.environment = environment
        self.name = name
        self.hasAlertToken = hasAlertToken
        self.hasVoIPToken = hasVoIPToken
        self.isCurrent = isCurrent
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, platform, environment, name
        case appID = "app_id"
        case hasAlertToken = "has_alert_token"
        case hasVoIPToken = "has_voip_token"
        case isCurrent = "is_current"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }
}

public enum DevicePlatform: String, Codable, Sendable, CaseIterable {
    case ios, macos
}

/// Which of Apple's two push services has given out a token: `sandbox` to apps that Xcode has installed.
public enum PushEnvironment: String, Codable, Sendable, CaseIterable {
    case production, sandbox
}

public typealias DeviceID = Identifier<Device>
