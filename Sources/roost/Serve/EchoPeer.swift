internal import CallSignaling
internal import ClientFeatures
internal import ClientKit
internal import ClientRTC
internal import RTCNetwork
internal import Synchronization

/// A callee that waits in a room, so that one person alone can try a call: it shows the test video and sends the
/// caller's own voice back. It is the app's coordinator with nobody in front of it: an offer opens the call by itself.
///
/// Where a person is a callee in the same room, it leaves the call to them (`LocalCallSignaling`). The protocol does
/// not say who sent a message, so it serves one caller at a time.
@MainActor
final class EchoPeer {
    static let name = "Echo"

    private static nonisolated let answered = Atomic<Int>(0)
    /// Calls answered since the process began.
    static nonisolated var callsAnswered: Int { answered.load(ordering: .relaxed) }

    private let room: Int
    private let coordinator: QuickCallCoordinator
    private var counting: Task<Void, Never>?
    /// The next attempt to come back into the room.
    private var returning: Task<Void, Never>?

    /// One caller's frozen computer does not keep the others waiting: what is lost for some seconds is over.
    private static var policy: CallPolicy {
        var policy = CallPolicy()
        policy.disturbanceGrace = .seconds(3)
        policy.restartDeadline = .seconds(5)
        policy.connectDeadline = .seconds(15)
        return policy
    }

    init(rooms: CallRoomServer, room: Int, media: CallMedia, configuration: PeerConnectionConfiguration) {
        self.room = room
        let store = MemoryStore()
        coordinator = QuickCallCoordinator(
            dependencies: QuickCallDependencies(
                signaling: LocalCallSignaling(rooms: rooms),
                media: RTCCallMediaEngine(configuration: configuration, media: media), preferences: store,
                secrets: store, policy: Self.policy))
    }

    /// Joins the room and stays there until `stop`.
    func start() {
        coordinator.start()
        coordinator.login.send(.usernameChanged(Self.name))
        coordinator.login.send(.roomChanged(String(room)))
        coordinator.login.send(.continueTapped)
        coordinator.room?.send(.isCallerChanged(false))
        coordinator.room?.send(.connectTapped)
        let snapshots = coordinator.snapshots
        counting = Task { [weak self] in
            var wasConnected = false
            for await snapshot in snapshots {
                let isConnected = snapshot.videoChat?.call == .connected
                if isConnected, !wasConnected { Self.answered.add(1, ordering: .relaxed) }
                wasConnected = isConnected
                // Whatever put it out of the room, it comes back: somebody may want to try a call at any time.
                if snapshot.room?.connection == .disconnected { self?.comeBack() }
            }
        }
    }

    /// Tries once a second: a full room refuses at once, as often as it is asked.
    private func comeBack() {
        guard returning == nil else { return }
        returning = Task { [weak self] in
            try? await Task.sleep(for: .seconds(1))
            self?.returning = nil
            if !Task.isCancelled { self?.coordinator.room?.send(.connectTapped) }
        }
    }

    func stop() async {
        counting?.cancel()
        returning?.cancel()
        await coordinator.shutDown()
    }
}
