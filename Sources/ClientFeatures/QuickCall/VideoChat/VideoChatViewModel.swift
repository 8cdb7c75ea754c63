internal import ClientKit
public import Observation

/// The call's screen.
@MainActor @Observable public final class VideoChatViewModel {
    /// How a call came to its end.
    struct Ending: Hashable {
        /// The last state before.
        var from: CallState
        var reason: CallEndReason
    }

    public private(set) var state: VideoChatState {
        didSet {
            guard state != oldValue else { return }
            changes.publish(state)
            onChange()
        }
    }

    @ObservationIgnored private let session: CallSession
    @ObservationIgnored private let onPartner: (_ name: String?, _ call: String?) -> Void
    @ObservationIgnored private let onEnded: (Ending) -> Void
    @ObservationIgnored private let onChange: () -> Void
    @ObservationIgnored private var follower: Task<Void, Never>?
    @ObservationIgnored private let changes = Broadcast<VideoChatState>()

    init(
        session: CallSession, role: CallRole, peerUsername: String?,
        onPartner: @escaping (_ name: String?, _ call: String?) -> Void,
        onEnded: @escaping (Ending) -> Void, onChange: @escaping () -> Void = {}
    ) {
        self.session = session
        self.onPartner = onPartner
        self.onEnded = onEnded
        self.onChange = onChange
        state = VideoChatState(role: role, peerUsername: peerUsername)
    }

    /// The state now and after every change.
    public var stateChanges: AsyncStream<VideoChatState> {
        changes.stream(startingWith: state)
    }

    public func send(_ intent: VideoChatIntent) {
        switch intent {
        case .microphoneTapped:
            state.isMicrophoneOn.toggle()
            session.setMicrophone(enabled: state.isMicrophoneOn)
        case .cameraTapped:
            state.isCameraOn.toggle()
            session.setCamera(enabled: state.isCameraOn)
        case .endCallTapped:
            session.hangUp()
        }
    }

    /// Starts the call; the view model follows it to its end.
    ///
    /// - Parameter events: the offer that opens the call, and the candidates that came before it.
    func start(with events: [CallSignalingEvent] = []) {
        guard follower == nil else { return }
        follower = Task {
            for await update in session.updates { take(update) }
        }
        session.start(with: events)
    }

    /// Returns when the call is over and its media closed.
    func finished() async {
        await follower?.value
    }

    /// Takes an event of the signaling service. `.peerLeft` means this call's partner.
    func receive(_ event: CallSignalingEvent) {
        session.receive(event)
        switch event {
        case .connectionLost:
            state.notice = "The signaling connection broke; " + (mediaFlows ? "the call goes on." : "reconnecting…")
        case .closed(let reason):
            // Before media flows the session ends the call and says so.
            if mediaFlows { state.notice = "The signaling connection is gone (\(reason)); the call goes on." }
        case .reconnected:
            state.notice = nil
        case .connected, .roster, .peerJoined, .peerLeft, .offer, .answer, .candidate, .unreadable:
            break
        }
    }

    /// Whom the call is with, as far as it is known; nil while it can be one of several.
    func partnerIdentified(_ username: String?) {
        state.peerUsername = username
    }

    private var mediaFlows: Bool {
        switch state.call {
        case .connected: true
        case .idle, .waitingForOffer, .offering, .answering, .connecting, .reconnectingMedia, .ended: false
        }
    }

    private func take(_ update: CallSessionUpdate) {
        switch update {
        case .state(let next, let because):
            let earlier = state.call
            var changed = state
            changed.call = next
            changed.because = because
            state = changed
            if let reason = next.endReason { onEnded(Ending(from: earlier, reason: reason)) }
        case .localVideo(let surface):
            state.localVideo = surface
        case .remoteTrack(let kind, let surface):
            switch kind {
            case .audio: break
            case .video: state.remoteVideo = surface
            }
        case .partner(let name, let call):
            onPartner(name, call)
        case .statistics(let statistics):
            state.statistics = statistics
        }
    }
}
