public import ClientKit

/// Everything that the quick call needs from outside. It is put together in one place: the app's entry point, or the
/// command's.
public struct QuickCallDependencies: Sendable {
    /// How rooms are joined and messages sent.
    public var signaling: any CallSignalingService
    /// What makes the media of a call.
    public var media: any CallMediaEngine
    /// Where the name is kept between runs.
    public var preferences: any PreferencesStore
    /// Where the room, which lets one in, is kept between runs.
    public var secrets: any SecretStore
    /// The time that calls run on.
    public var clock: CallClock
    /// How long a call's steps may take.
    public var policy: CallPolicy

    public init(
        signaling: any CallSignalingService, media: any CallMediaEngine, preferences: any PreferencesStore,
        secrets: any SecretStore, clock: CallClock = CallClock(ContinuousClock()), policy: CallPolicy = CallPolicy()
    ) {
        self.signaling = signaling
        self.media = media
        self.preferences = preferences
        self.secrets = secrets
        self.clock = clock
        self.policy = policy
    }
}
