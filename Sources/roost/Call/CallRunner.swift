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
        case interrupted
        case waitedEnough
        case callEnough
        /// A server that says who is present has said it by now.
        case presenceSettled
        case over
    }

    private let options: Options
    private let coordinator: QuickCallCoordinator
    private let output: CallOutput
    private var wasConnected = false
    /// Whether a call may be tried although the server does not say who is there.
    private var mayCallUnseen = false
    private var hasEnded = false

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
            timer(options.wait, .waitedEnough, into: queue), timer(.seconds(1), .presenceSettled, into: queue),
        ]
        defer { for helper in helpers { helper.cancel() } }
        coordinator.start()
        try logIn()
        var failure: CommandError?
        var callTimer: Task<Void, Never>?
        loop: for await step in steps {
            switch step {
            case .screen(let snapshot):
                output.show(snapshot)
                failure = try tap(snapshot)
                if isConnected(snapshot), !wasConnected {
                    wasConnected = true
                    callTimer = options.duration.map { timer($0, .callEnough, into: queue) }
                }
                if hasEnded { break loop }
            case .waitedEnough where !wasConnected:
                failure = waitedInVain()
                break loop
            case .presenceSettled:
                mayCallUnseen = true
                startCallIfPossible()
            case .interrupted, .callEnough, .over:
                break loop
            case .waitedEnough:
                continue
            }
        }
        callTimer?.cancel()
        await coordinator.shutDown()
        if let failure { throw failure }
    }

    /// What was missing until now.
    private func waitedInVain() -> CommandError {
        let wait = "within \(options.wait.components.seconds) s"
        guard let room = coordinator.room?.state, room.connection == .connected else {
            return CommandError("The server at \(options.server) did not let us in \(wait).")
        }
        guard room.presence.name != nil else {
            return CommandError(
                "Nobody came into room \(options.room) as \(options.isCaller ? "callee" : "caller") \(wait).")
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

    /// Does what a person would do on this screen. Returns what went wrong when the call is over.
    private func tap(_ snapshot: QuickCallSnapshot) throws -> CommandError? {
        guard let room = snapshot.room else { return nil }
        if let chat = snapshot.videoChat {
            guard let reason = chat.call.endReason else { return nil }
            hasEnded = true
            // However politely it ended: without media there was no call.
            return reason.isFailure || !wasConnected ? CommandError("No call came about. \(reason.sentence)") : nil
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

    private func startCallIfPossible() {
        guard options.isCaller, coordinator.videoChat == nil, let room = coordinator.room, room.state.canStartCall,
            room.state.presence != .unknown || mayCallUnseen
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
        Task { for await _ in Interrupts.stream() { queue.yield(.interrupted) } }
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
