internal import ClientKit
public import Observation

/// A screen above the login.
public enum QuickCallRoute: Hashable, Sendable {
    case room
    case videoChat
}

/// Everything that is on screen at one moment, for those who follow the quick call without SwiftUI.
public struct QuickCallSnapshot: Hashable, Sendable {
    /// The screens above the login, the visible one last.
    public var path: [QuickCallRoute]
    public var login: LoginState
    public var room: RoomState?
    public var videoChat: VideoChatState?
}

/// Leads through login, room and call, and back. It is the only reader of the signaling's events: every event goes to
/// the room's screen first and then to the call.
@MainActor @Observable public final class QuickCallCoordinator {
    /// The screens above the login, the visible one last.
    public private(set) var path: [QuickCallRoute] = []
    public let login: LoginViewModel
    /// The room's screen; nil before login.
    public private(set) var room: RoomStateViewModel?
    /// The call's screen; nil without a call.
    public private(set) var videoChat: VideoChatViewModel?

    @ObservationIgnored private let dependencies: QuickCallDependencies
    @ObservationIgnored private let changes = Broadcast<QuickCallSnapshot>()
    @ObservationIgnored private var reader: Task<Void, Never>?
    /// Candidates that came before the offer which opens the call.
    @ObservationIgnored private var earlyCandidates: [IceCandidatePayload] = []

    public init(dependencies: QuickCallDependencies) {
        self.dependencies = dependencies
        login = LoginViewModel(
            store: QuickCallLoginStore(preferences: dependencies.preferences, secrets: dependencies.secrets))
        login.onContinue = { [weak self] login in self?.openRoom(login) }
        login.onChange = { [weak self] in self?.publish() }
    }

    /// Begins: reads the signaling's events, and shows the room at once when a login is stored.
    /// More than one call does no harm.
    public func start() {
        guard reader == nil else { return }
        let events = dependencies.signaling.events
        reader = Task { [weak self] in
            for await event in events { self?.take(event) }
        }
        if let stored = login.restore() { openRoom(stored) }
    }

    /// Everything on screen, now and after every change.
    public var snapshots: AsyncStream<QuickCallSnapshot> {
        changes.stream(startingWith: snapshot)
    }

    /// The user went back by the system's own means, for example by a swipe.
    public func wentBack(to newPath: [QuickCallRoute]) {
        if path.contains(.videoChat), !newPath.contains(.videoChat) { videoChat?.send(.endCallTapped) }
        if path.contains(.room), !newPath.contains(.room) { closeRoom() }
    }

    /// Ends the call, leaves the room and returns when both are done: for the end of the program.
    public func shutDown() async {
        let chat = videoChat
        // In this order the end of the call does not join the room again.
        room?.disconnect()
        chat?.send(.endCallTapped)
        await chat?.finished()
        await room?.settled()
        reader?.cancel()
    }

    // MARK: Screens

    private func openRoom(_ login: QuickCallLogin) {
        guard room == nil else { return }
        let hooks = RoomStateViewModel.Hooks(
            startCall: { [weak self] in self?.openVideoChat() },
            logout: { [weak self] in self?.logOut() },
            changed: { [weak self] in self?.publish() })
        room = RoomStateViewModel(login: login, signaling: dependencies.signaling, hooks: hooks)
        show([.room])
    }

    private func openVideoChat() {
        guard let room, videoChat == nil else { return }
        let role = room.state.role
        let session = CallSession(
            role: role, signaling: dependencies.signaling, engine: dependencies.media, clock: dependencies.clock,
            policy: dependencies.policy)
        let chat = VideoChatViewModel(
            session: session, role: role, peerUsername: room.state.presence.name,
            onEnded: { [weak self] ending in self?.callEnded(ending) },
            onChange: { [weak self] in self?.publish() })
        videoChat = chat
        chat.start()
        for candidate in earlyCandidates { chat.receive(.candidate(candidate)) }
        earlyCandidates.removeAll()
        show([.room, .videoChat])
    }

    private func callEnded(_ ending: VideoChatViewModel.Ending) {
        guard let chat = videoChat else { return }
        videoChat = nil
        earlyCandidates.removeAll()
        guard let room else { return }
        room.show(ending.note(in: chat.state))
        if ending.partnerMustBeTold { room.rejoin() }
        show([.room])
    }

    private func logOut() {
        closeRoom()
        login.clear()
    }

    private func closeRoom() {
        videoChat?.send(.endCallTapped)
        videoChat = nil
        earlyCandidates.removeAll()
        room?.disconnect()
        room = nil
        show([])
    }

    private func show(_ screens: [QuickCallRoute]) {
        path = screens
        publish()
    }

    private var snapshot: QuickCallSnapshot {
        QuickCallSnapshot(path: path, login: login.state, room: room?.state, videoChat: videoChat?.state)
    }

    private func publish() {
        changes.publish(snapshot)
    }

    // MARK: Signaling

    private func take(_ event: CallSignalingEvent) {
        guard let room else { return }
        let before = room.state.roster
        room.receive(event)
        switch event {
        case .offer:
            if videoChat == nil { answerCall(in: room) }
            videoChat?.receive(event)
        case .candidate(let candidate):
            if let videoChat { videoChat.receive(event) } else { keep(candidate, in: room) }
        case .peerLeft(let username):
            guard let videoChat else { return earlyCandidates.removeAll() }
            let partner = videoChat.state.peerUsername
            if room.state.roster.endsCall(with: partner, whenLeft: username, before: before, as: room.state.role) {
                videoChat.receive(event)
            }
        case .answer, .connectionLost, .reconnected, .closed:
            videoChat?.receive(event)
        case .connected, .roster, .peerJoined, .unreadable:
            break
        }
        if let name = room.state.presence.name { videoChat?.partnerIdentified(name) }
    }

    /// An offer that finds a callee on the room's screen opens the call.
    private func answerCall(in room: RoomStateViewModel) {
        guard room.state.connection == .connected else { return }
        switch room.state.role {
        case .callee: openVideoChat()
        case .caller: room.show("Somebody calls, but you are a caller too: one of you has to be the callee.")
        }
    }

    private func keep(_ candidate: IceCandidatePayload, in room: RoomStateViewModel) {
        guard room.state.role == .callee, room.state.connection == .connected,
            earlyCandidates.count < dependencies.policy.heldCandidateLimit
        else { return }
        earlyCandidates.append(candidate)
    }
}
