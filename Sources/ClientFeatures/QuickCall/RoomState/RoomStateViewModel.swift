internal import ClientKit
public import Observation

/// The room's screen: connects to the signaling server and shows who is there.
@MainActor @Observable public final class RoomStateViewModel {
    /// Where the room's screen leads.
    struct Hooks {
        var startCall: () -> Void = {}
        var logout: () -> Void = {}
        var changed: () -> Void = {}
    }

    public private(set) var state: RoomState {
        didSet {
            guard state != oldValue else { return }
            changes.publish(state)
            hooks.changed()
        }
    }

    @ObservationIgnored private let signaling: any CallSignalingService
    @ObservationIgnored private let hooks: Hooks
    @ObservationIgnored private let changes = Broadcast<RoomState>()
    /// The last thing asked of the service; the next one waits for it, so that they arrive in order.
    @ObservationIgnored private(set) var pending: Task<Void, Never>?
    /// A call ended while the connection was broken: the partner is told as soon as it is back.
    @ObservationIgnored private var owesGoodbye = false
    /// Counts what was asked, so that a late failure of an abandoned attempt changes nothing.
    @ObservationIgnored private var attempt = 0

    /// - Parameter earlier: what is still under way at the service, for an earlier login.
    init(
        login: QuickCallLogin, signaling: any CallSignalingService, after earlier: Task<Void, Never>? = nil,
        hooks: Hooks = Hooks()
    ) {
        state = RoomState(login: login)
        pending = earlier
        self.signaling = signaling
        self.hooks = hooks
    }

    /// The state now and after every change.
    public var stateChanges: AsyncStream<RoomState> {
        changes.stream(startingWith: state)
    }

    public func send(_ intent: RoomIntent) {
        switch intent {
        case .isCallerChanged(let isCaller):
            if state.connection == .disconnected { state.role = CallRole(isCaller: isCaller) }
        case .connectTapped:
            if state.connection == .disconnected { connect() }
        case .disconnectTapped:
            if state.connection != .disconnected { disconnect() }
        case .startCallTapped:
            guard state.canStartCall else { return }
            state.notice = nil
            hooks.startCall()
        case .logoutTapped:
            disconnect()
            hooks.logout()
        }
    }

    /// Takes an event of the signaling service.
    func receive(_ event: CallSignalingEvent) {
        switch event {
        case .connected:
            // An abandoned attempt can still succeed for a moment; it changes nothing then.
            guard state.connection == .connecting else { return }
            state.roster = RoomRoster()
            state.connection = .connected
        case .connectionLost(let reason):
            if state.connection == .connected { state.connection = .reconnecting(reason: reason) }
        case .reconnected:
            guard case .reconnecting = state.connection else { return }
            // Who came and went meanwhile is unknown; a server that announces does so again.
            state.roster = RoomRoster()
            state.connection = .connected
            if owesGoodbye { rejoin() }
        case .closed(let reason):
            guard state.connection != .disconnected else { return }
            attempt += 1
            state.connection = .disconnected
            state.roster = RoomRoster()
            state.notice = "The signaling server ended the connection: \(reason)."
        case .roster(let participants):
            if isInRoom { state.roster.listed(participants) }
        case .peerJoined(let participant):
            if isInRoom { state.roster.joined(participant) }
        case .peerLeft(let username):
            if isInRoom { _ = state.roster.left(username, partnerRole: state.role.opposite) }
        case .offer:
            if isInRoom, state.role == .callee { state.roster.offered() }
        case .unreadable(let detail):
            state.notice = detail
        case .answer, .candidate:
            break
        }
    }

    /// Shows how a call ended.
    func show(_ notice: String) {
        state.notice = notice
    }

    /// Leaves the room and joins it again, which is how the partner learns that a call is over: the protocol has no
    /// message for it, only `room_user_left`.
    func rejoin() {
        switch state.connection {
        case .connected: owesGoodbye = false
        case .reconnecting: return owesGoodbye = true
        case .disconnected, .connecting: return
        }
        let left = leave()
        state.connection = .connecting
        state.roster = RoomRoster()
        join(after: left)
    }

    /// Leaves the room; whatever was under way is given up.
    func disconnect() {
        pending = leave()
        state.connection = .disconnected
        state.roster = RoomRoster()
        state.notice = nil
    }

    /// Returns when nothing is under way any more.
    func settled() async {
        await pending?.value
    }

    private var isInRoom: Bool {
        switch state.connection {
        case .connected, .reconnecting: true
        case .disconnected, .connecting: false
        }
    }

    private func connect() {
        state.notice = nil
        state.roster = RoomRoster()
        state.connection = .connecting
        join(after: pending)
    }

    private func join(after earlier: Task<Void, Never>?) {
        attempt += 1
        owesGoodbye = false
        let attempt = attempt
        let identity = CallIdentity(username: state.username, room: state.room, role: state.role)
        pending = Task { [weak self, signaling] in
            await earlier?.value
            guard !Task.isCancelled else { return }
            do throws(CallSignalingError) {
                try await signaling.connect(as: identity)
            } catch {
                self?.connectFailed(error, attempt: attempt)
            }
        }
    }

    private func connectFailed(_ error: CallSignalingError, attempt: Int) {
        guard attempt == self.attempt, state.connection == .connecting else { return }
        state.connection = .disconnected
        state.notice = error.sentence
    }

    private func leave() -> Task<Void, Never> {
        attempt += 1
        let earlier = pending
        earlier?.cancel()
        return Task { [signaling] in
            // A cancelled attempt ends soon; leaving before its end could miss what it just opened.
            await signaling.disconnect()
            await earlier?.value
        }
    }
}
