public import ClientKit

/// Everything that the quick call needs from outside. It is put together in one place: the app's entry point, or the
/// command's.
public struct QuickCallDependencies: Sendable {
    public var signaling: any CallSignalingService
    public var media: any CallMediaEngine
    public var preferences: any PreferencesStore
    public var secrets: any SecretStore
    public var clock: CallClock
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
