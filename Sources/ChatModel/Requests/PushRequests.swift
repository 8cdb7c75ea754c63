/// The body of `POST /users/me/devices`.
public struct RegisterDeviceRequest: Codable, Sendable, Equatable {
    public var platform: DevicePlatform
    /// The app's bundle identifier.
    public var appID: String
    public var environment: PushEnvironment
    /// What the system has given the app for alerts, in hexadecimal digits. Nil leaves the one that is known.
    public var alertToken: String?
    /// What PushKit has given it for calls.
    public var voipToken: String?
    public var name: String?

    public init(
        platform: DevicePlatform, appID: String, environment: PushEnvironment, alertToken: String? = nil,
        voipToken: String? = nil, name: String? = nil
    ) {
        self.platform = platform
        self.appID = appID
        self.environment = environment
        self.alertToken = alertToken
        self.voipToken = voipToken
        self.name = name
    }

    private enum CodingKeys: String, CodingKey {
        case platform, environment, name
        case appID = "app_id"
        case alertToken = "alert_token"
        case voipToken = "voip_token"
    }
}
