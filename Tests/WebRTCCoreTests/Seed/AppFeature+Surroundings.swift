#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
#endif
import WebRTCCore

// What the example refers to and leaves to the app: its signaling, and what macros would write.

enum SignalingMessage: Sendable {
    case offer(WebRTCOffer)
    case answer(WebRTCAnswer)
    case iceCandidate(ICECandidate)
}

protocol SignalingContent: Sendable {
    var message: SignalingMessage { get }
}

extension WebRTCAnswer: SignalingContent {
    var message: SignalingMessage { .answer(self) }
}

extension ICECandidate: SignalingContent {
    var message: SignalingMessage { .iceCandidate(self) }
}

/// Where the app's messages go.
struct SignalingServer: DependencyKey {
    var send: @Sendable (_ message: SignalingMessage, _ userId: String) async -> Void

    static var liveValue: SignalingServer { SignalingServer { _, _ in } }
    static var testValue: SignalingServer { liveValue }
}

extension DependencyValues {
    var signalingServer: SignalingServer {
        get { self[SignalingServer.self] }
        set { self[SignalingServer.self] = newValue }
    }
}

extension AppFeature {
    func sendToSignalingServer(_ content: some SignalingContent, userId: String) -> Effect<Action> {
        @Dependency(\.signalingServer) var server
        return .run { [server, message = content.message] _ in await server.send(message, userId) }
    }
}

extension AppFeature.Action: CasePathable {
    struct AllCasePaths: Sendable {
        var webRTC: AnyCasePath<AppFeature.Action, WebRTCFeature.Action> {
            AnyCasePath(embed: { .webRTC($0) }, extract: { if case .webRTC(let action) = $0 { action } else { nil } })
        }
    }

    static var allCasePaths: AllCasePaths { AllCasePaths() }
}

extension AppFeature.State: ObservableState {
    var _$id: ObservableStateID { webRTC._$id }
    mutating func _$willModify() { webRTC._$willModify() }
}
