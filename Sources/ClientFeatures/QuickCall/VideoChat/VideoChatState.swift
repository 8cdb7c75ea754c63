public import ClientKit

/// What the call's screen shows.
public struct VideoChatState: Hashable, Sendable {
    public let role: CallRole
    /// The partner's name, where the server told it.
    public internal(set) var peerUsername: String?
    public internal(set) var call = CallState.idle
    /// Why the call is in its state, for a log.
    public internal(set) var because = ""
    public internal(set) var localVideo: VideoSurface?
    public internal(set) var remoteVideo: VideoSurface?
    public internal(set) var isMicrophoneOn = true
    public internal(set) var isCameraOn = true
    public internal(set) var statistics: CallStatistics?
    /// Something to know that does not end the call.
    public internal(set) var notice: String?

    init(role: CallRole, peerUsername: String?) {
        self.role = role
        self.peerUsername = peerUsername
    }

    /// The partner in words.
    public var peerName: String {
        if let peerUsername { return peerUsername }
        switch role {
        case .caller: return "The callee"
        case .callee: return "The caller"
        }
    }

    public var callText: String {
        call.text
    }
}

/// What the user does on the call's screen.
public enum VideoChatIntent: Hashable, Sendable {
    case microphoneTapped
    case cameraTapped
    case endCallTapped
}
