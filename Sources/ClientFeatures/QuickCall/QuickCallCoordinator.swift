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
    /// Whose leaving ends the call.
    @ObservationIgnored private var partner = CallPartner()
    /// What the partner calls the call; nil before there is one, and with clients that say nothing of it.
    @ObservationIgnored private var partnerCall: String?
    /// What an earlier login has left under way at the signaling service.
    @ObservationIgnored private var farewell: Task<Void, Never>?
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
        room = RoomStateViewModel(login: login, signaling: dependencies.signaling, after: farewell, hooks: hooks)
        show([.room])
    }

    /// - Parameter offer: the one that opens the call; nil when the user does.
    private func openVideoChat(answering offer: SessionDescriptionPayload? = nil) {
        guard let room, videoChat == nil else { return }
        let role = room.state.role
        // Of several, who came last: whoever waits there always, like an echo peer, came before.
        let callees = role == .caller ? room.state.roster.names(of: .callee) : []
        let callee = callees.count > 1 ? callees.last : nil
        let session = CallSession(
            role: role, username: room.state.username, callee: callee, signaling: dependencies.signaling,
            engine: dependencies.media, clock: dependencies.clock, policy: dependencies.policy)
        (partner, partnerCall) = (CallPartner(calling: callee), nil)
        let chat = VideoChatViewModel(
            session: session, role: role, peerUsername: callee ?? room.state.presence.name,
            onPartner: { [weak self] name, call in self?.partnerSettled(name, call) },
            onEnded: { [weak self] ending in self?.callEnded(ending) },
            onChange: { [weak self] in self?.publish() })
        videoChat = chat
        // Before the call begins: it may be over at once, without a camera, and has to know by then who calls.
        var events = earlyCandidates.map { CallSignalingEvent.candidate($0) }
        if let offer { events.append(.offer(offer)) }
        chat.start(with: events)
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
        farewell = room?.pending
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
        case .offer(let offer):
            // One that is addressed to a call belongs to a former one of ours, or to somebody else's.
            if videoChat == nil, offer.toCall == nil, offer.isMeant(for: room.state.username) {
                // What waits of other calls would take the room of this one's.
                earlyCandidates.removeAll { $0.fromCall != nil && $0.fromCall != offer.fromCall }
                answerCall(offer, in: room)
            } else {
                videoChat?.receive(isPartnersNextCall(offer) ? .peerLeft(username: offer.fromUser ?? "") : event)
            }
        case .candidate(let candidate):
            if let videoChat { videoChat.receive(event) } else { keep(candidate, in: room) }
        case .peerLeft(let username):
            let roster = room.state.roster
            guard let videoChat else {
                if roster.names(of: room.state.role.opposite).isEmpty { earlyCandidates.removeAll() }
                return
            }
            let isOver = partner.left(username, before: before, after: roster, as: room.state.role)
            showPartner()
            if isOver { videoChat.receive(event) }
        case .answer, .connectionLost, .reconnected, .closed:
            videoChat?.receive(event)
        case .connected, .roster, .peerJoined, .unreadable:
            break
        }
        showPartner()
    }

    /// Somebody called or answered: the call is theirs, whoever else comes and goes.
    private func partnerSettled(_ name: String?, _ call: String?) {
        guard let room else { return }
        partnerCall = call
        partner.settle(name: name, present: room.state.roster.names(of: room.state.role.opposite))
        showPartner()
    }

    private func showPartner() {
        guard let room, let videoChat else { return }
        videoChat.partnerIdentified(
            partner.isSettled ? partner.name : videoChat.state.peerUsername ?? room.state.presence.name)
    }

    /// Whether the partner, whose media has stopped, calls anew: their program has been started again, and knows
    /// nothing of this call. The offer comes again in a moment, and then opens the next one. That of this call comes
    /// again where our answer was lost, and is answered as it was.
    private func isPartnersNextCall(_ offer: SessionDescriptionPayload) -> Bool {
        guard let chat = videoChat?.state, chat.role == .callee, chat.call == .reconnectingMedia,
            offer.toCall == nil, let call = offer.fromCall, call != partnerCall, let name = offer.fromUser
        else { return false }
        return partner.isSettled && partner.name == name
    }

    /// An offer that finds a callee on the room's screen opens the call.
    private func answerCall(_ offer: SessionDescriptionPayload, in room: RoomStateViewModel) {
        guard room.state.connection == .connected else { return }
        switch room.state.role {
        case .callee: openVideoChat(answering: offer)
        case .caller: room.show("Somebody calls, but you are a caller too: one of you has to be the callee.")
        }
    }

    private func keep(_ candidate: IceCandidatePayload, in room: RoomStateViewModel) {
        guard room.state.role == .callee, room.state.connection == .connected, candidate.toCall == nil else { return }
        // The newest belong to the offer that comes next.
        if earlyCandidates.count >= dependencies.policy.heldCandidateLimit { earlyCandidates.removeFirst() }
        earlyCandidates.append(candidate)
    }
}
