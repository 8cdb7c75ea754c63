internal import ClientFeatures
internal import ClientKit

/// Drives the app's coordinator as a person would: logs in, connects, starts the call when the other side is there, and
/// ends it in time. It decides when to tap what; everything that a call is happens in the view models.
@MainActor
final class CallRunner {
    struct Options {
        var room: Int
        var username: String
        var isCaller: Bool
        var server: String
        /// How long the connected call lasts; nil: until somebody ends it.
        var duration: Duration?
        /// How long to wait for a call to connect.
        var wait: Duration
    }

    /// What can happen next.
    private enum Step {
        case screen(QuickCallSnapshot)
        case interrupted(signal: Int32)
        case readerGone
        case waitedEnough
        case callEnough
        /// A server that says who is present has said it by now; counts the connections.
        case presenceSettled(connection: Int)
        case over
    }

    private let options: Options
    private let coordinator: QuickCallCoordinator
    private let output: CallOutput
    private var wasConnected = false
    /// The call's last state before its end.
    private var callState = CallState.idle
    /// The screen that was seen last.
    private var connection = RoomState.Connection.disconnected
    /// Counts how often the room has been joined.
    private var connections = 0
    /// Whether a call may be tried although the server does not say who is there, or whether these are all.
    private var mayCallUnseen = false
    private var hasEnded = false
    private var presenceTimer: Task<Void, Never>?

    init(options: Options, engine: any CallMediaEngine, output: CallOutput) {
        self.options = options
        self.output = output
        let signaling = SocketIOCallSignaling(server: options.server)
        // Everything is told on the command's line; nothing is to be remembered.
        let store = MemoryStore()
        coordinator = QuickCallCoordinator(
            dependencies: QuickCallDependencies(
                signaling: signaling, media: engine, preferences: store, secrets: store
            ))
    }

    /// Returns when the call has ended as it should; throws a sentence otherwise.
    func run() async throws {
        let (steps, queue) = AsyncStream.makeStream(of: Step.self)
        let helpers = [
            follow(coordinator.snapshots, into: queue), watchInterrupts(queue),
            timer(options.wait, .waitedEnough, into: queue),
        ]
        defer { for helper in helpers { helper.cancel() } }
        output.onReaderGone = { queue.yield(.readerGone) }
        coordinator.start()
        try logIn()
        var failure: CommandError?
        var callTimer: Task<Void, Never>?
        loop: for await step in steps {
            switch step {
            case .screen(let snapshot):
                output.show(snapshot)
                if joined(snapshot) {
                    presenceTimer?.cancel()
                    presenceTimer = timer(.seconds(1), .presenceSettled(connection: connections), into: queue)
                }
                failure = tap(snapshot)
                if isConnected(snapshot), !wasConnected {
                    wasConnected = true
                    callTimer = options.duration.map { timer($0, .callEnough, into: queue) }
                }
                if hasEnded { break loop }
            case .waitedEnough where !wasConnected:
                failure = waitedInVain()
                break loop
            case .presenceSettled(let settled):
                guard settled == connections else { continue }
                mayCallUnseen = true
                startCallIfPossible()
            case .interrupted(let signal):
                if !wasConnected {
                    failure = CommandError("Ended before a call came about.", status: 128 + signal)
                }
                break loop
            case .readerGone:
                failure = CommandError("Nobody takes what is printed any more, so the call is over.")
                break loop
            case .callEnough, .over:
                break loop
            case .waitedEnough:
                continue
            }
        }
        callTimer?.cancel()
        presenceTimer?.cancel()
        await coordinator.shutDown()
        if let failure { throw failure }
    }

    /// What was missing until now.
    private func waitedInVain() -> CommandError {
        let wait = "within \(options.wait.text)"
        guard let room = coordinator.room?.state, room.connection == .connected else {
            return CommandError("The server at \(options.server) did not let us in \(wait).")
        }
        guard room.presence.name != nil else {
            let (role, opposite) = (room.role.rawValue, room.role.opposite.rawValue)
            let hint = room.sameRoleNames.first.map { " \($0) is a \(role) too: one of you has to be the \(opposite)." }
            return CommandError("Nobody came into room \(options.room) as \(opposite) \(wait)." + (hint ?? ""))
        }
        return CommandError(
            "No call came about \(wait): \(options.isCaller ? "it was not answered" : "nobody called").")
    }

    private func logIn() throws {
        let login = coordinator.login
        login.send(.usernameChanged(options.username))
        login.send(.roomChanged(String(options.room)))
        login.send(.continueTapped)
        if let problem = login.state.usernameProblem ?? login.state.roomProblem { throw CommandError(problem) }
        coordinator.room?.send(.isCallerChanged(options.isCaller))
        coordinator.room?.send(.connectTapped)
    }

    /// Whether the room has just been joined, for the first time or again.
    private func joined(_ snapshot: QuickCallSnapshot) -> Bool {
        let earlier = connection
        connection = snapshot.room?.connection ?? .disconnected
        guard connection == .connected, earlier != .connected else { return false }
        connections += 1
        mayCallUnseen = false
        return true
    }

    /// Does what a person would do on this screen. Returns what went wrong when the call is over.
    private func tap(_ snapshot: QuickCallSnapshot) -> CommandError? {
        guard let room = snapshot.room else { return nil }
        if let chat = snapshot.videoChat {
            guard let reason = chat.call.endReason else {
                callState = chat.call
                return nil
            }
            if !wasConnected, mayComeAbout(after: reason) { return nil }
            hasEnded = true
            if wasConnected { return reason.isFailure ? CommandError(reason.sentence) : nil }
            // However politely it ended: without media there was no call.
            return CommandError("No call came about. \(reason.sentence)")
        }
        if wasConnected {
            hasEnded = true
            return nil
        }
        switch room.connection {
        case .disconnected:
            guard let notice = room.notice else { return nil }
            hasEnded = true
            return CommandError(notice)
        case .connected:
            startCallIfPossible()
            return nil
        case .connecting, .reconnecting:
            return nil
        }
    }

    /// Whether there may still be a call: the other side went before it had answered, or gave up, and is waited for.
    private func mayComeAbout(after reason: CallEndReason) -> Bool {
        switch reason {
        case .noAnswer: true
        // A callee who had answered and goes does not want to talk.
        case .peerLeft, .peerClosedMedia: !options.isCaller || callState == .offering
        case .hungUp, .mediaUnavailable, .negotiationFailed, .mediaNeverConnected, .mediaLost, .signalingClosed: false
        }
    }

    private func startCallIfPossible() {
        guard options.isCaller, coordinator.videoChat == nil, let room = coordinator.room, room.state.canStartCall,
            room.state.knowsEverybody || mayCallUnseen
        else { return }
        room.send(.startCallTapped)
    }

    private func isConnected(_ snapshot: QuickCallSnapshot) -> Bool { snapshot.videoChat?.call == .connected }

    private func follow(
        _ snapshots: AsyncStream<QuickCallSnapshot>, into queue: AsyncStream<Step>.Continuation
    ) -> Task<Void, Never> {
        Task {
            for await snapshot in snapshots { queue.yield(.screen(snapshot)) }
            queue.yield(.over)
        }
    }

    private func watchInterrupts(_ queue: AsyncStream<Step>.Continuation) -> Task<Void, Never> {
        let interrupts = Interrupts.stream()
        return Task { for await signal in interrupts { queue.yield(.interrupted(signal: signal)) } }
    }

    private func timer(
        _ duration: Duration, _ step: Step, into queue: AsyncStream<Step>.Continuation
    ) -> Task<Void, Never> {
        Task {
            guard (try? await Task.sleep(for: duration)) != nil else { return }
            queue.yield(step)
        }
    }
}
