internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import RTCNetwork
internal import SocketIO
internal import SwiftProtobuf

/// A worker of LiveKit Agents: waits at a server, of any make, until agents are sent for, and runs one function for
/// each.
///
/// ```swift
/// let worker = try AgentWorker(url: "wss://meet.example.org", apiKey: key, apiSecret: secret) { context in
///     let events = context.room.events
///     try await context.connect()
///     for await event in events { … }                        // until the room is left, or the job is called off
/// }
/// try await worker.run()
/// ```
/// The job is done when the function returns, and has failed when it throws: a server of ours has it done once more. A
/// job that is called off has its room left, by which its events end, and is cancelled if it has not come to its end in
/// `Options.shutdownTime`. All jobs of a worker run in its process; what must not take the others along when it crashes
/// goes into a worker of its own.
///
/// A connection that is lost is made anew, and what agents do goes on meanwhile: they have connections of their own.
public actor AgentWorker {
    /// What a job is: takes the job and its room, and returns when it is done.
    public typealias Job = @Sendable (AgentJobContext) async throws -> Void

    /// How a worker presents itself, and what it takes.
    public struct Options: Sendable {
        /// Under which name agents are sent for; empty for those that come into each new room by themselves.
        public var agentName = ""
        /// What brings an agent.
        public var kind = AgentJob.Kind.room
        /// Tells workers of one name apart that are not to do each other's jobs; LiveKit's `deployment`.
        public var deployment = ""
        /// What agents ask for in their rooms.
        public var permissions = ParticipantPermissions()
        /// With so many jobs at once the worker is full. Not less than 1.
        public var maximumJobs = 32
        /// How busy the machine is, from 0 to 1, where it is full; asked every 2.5 seconds. Nil: jobs alone count.
        public var load: (@Sendable () async -> Double)?
        /// How long the function of a job that is called off has to come to its end before it is cancelled, and how
        /// long one that is cancelled is waited for.
        public var shutdownTime = Duration.seconds(10)
        /// Whether a job is to be done here, and how its agent is called; to be said within eight seconds. Unless
        /// something else is said, each is.
        public var answer: @Sendable (AgentJob) async -> AgentJobAnswer = { _ in .accept() }
        /// Told what happens, in order, and not to be blocked.
        public var onEvent: @Sendable (AgentWorkerEvent) -> Void = { _ in }
        /// How agents join their rooms; `verifiesCertificates` is the worker's too.
        public var connect = ConnectOptions()

        public init() {}
    }

    private enum Happening: Sendable {
        case socket(BinarySocket.Fact, generation: Int)
        case answered(jobID: String, number: Int, AgentJobAnswer)
        case ended(jobID: String, AgentWorkerMachine.Outcome)
        /// Its function has ended, and its room is left.
        case left(jobID: String)
        /// Its room is left, whatever its function does.
        case roomLeft(jobID: String)
        case load(Double)
        case timePassed
        case drain
        case stop
    }

    private struct Running {
        let context: AgentJobContext
        let task: Task<Void, Never>
    }

    private static let loadInterval = Duration.seconds(2.5)
    /// For what was said last.
    private static let goodbyeTime = Duration.seconds(3)
    /// One token is for one attempt to connect.
    private static let tokenValidity: TimeInterval = 600

    private let url: String
    private let key: APIKey
    private let options: Options
    private let job: Job
    private var machine: AgentWorkerMachine
    private nonisolated let happened: AsyncStream<Happening>.Continuation
    private let happenings: AsyncStream<Happening>
    private var hasRun = false
    private var socket: BinarySocket?
    /// What comes of sockets before the present one is for nobody.
    private var generation = 0
    private var running: [String: Running] = [:]
    /// Rooms that are left for functions which do not.
    private var leaving: [String: Task<Void, Never>] = [:]
    /// By the questions' numbers.
    private var asked: [Int: Task<Void, Never>] = [:]
    private var timer = WakeTimer()

    /// - Parameters:
    ///   - url: of the server: `ws://host:port`, `wss://host`, or the same with `http`; perhaps with a path.
    ///   - apiKey: its name; what a server's configuration has under it is the secret.
    ///   - job: run for each job, at the same time as others.
    public init(
        url: String, apiKey: String, apiSecret: String, options: Options = Options(), job: @escaping Job
    ) throws(AgentWorkerError) {
        guard let key = try? APIKey(apiKey, secret: apiSecret, allowsShortSecret: true) else { throw .invalidKey }
        self.url = url
        self.key = key
        self.options = options
        self.job = job
        var told = AgentWorkerMachine.Options()
        told.maximumJobs = max(options.maximumJobs, 1)
        told.shutdownTime = Interval(options.shutdownTime)
        told.registration = .with {
            $0.type = options.kind.message
            $0.agentName = options.agentName
            $0.deployment = options.deployment
            $0.version = "1"
            $0.allowedPermissions = .with {
                $0.canSubscribe = options.permissions.canSubscribe
                $0.canPublish = options.permissions.canPublish
                $0.canPublishData = options.permissions.canPublishData
                $0.canUpdateMetadata = options.permissions.canUpdateMetadata
                $0.hidden = options.permissions.isHidden
                $0.agent = true
            }
        }
        machine = AgentWorkerMachine(options: told)
        (happenings, happened) = AsyncStream.makeStream(of: Happening.self)
    }

    /// The server and its key from `LIVEKIT_URL`, `LIVEKIT_API_KEY` and `LIVEKIT_API_SECRET`, as LiveKit's programs
    /// have them.
    ///
    /// - Parameter environment: nil for that of the process.
    public init(
        environment: [String: String]? = nil, options: Options = Options(), job: @escaping Job
    ) throws(AgentWorkerError) {
        let environment = environment ?? ProcessInfo.processInfo.environment
        func value(_ name: String) throws(AgentWorkerError) -> String {
            guard let value = environment[name], !value.isEmpty else { throw .missingVariable(name) }
            return value
        }
        try self.init(
            url: value("LIVEKIT_URL"), apiKey: value("LIVEKIT_API_KEY"), apiSecret: value("LIVEKIT_API_SECRET"),
            options: options, job: job)
    }

    /// Whether the server sends for its agents now: for a probe of readiness.
    public var isRegistered: Bool { machine.phase == .registered }
    /// Jobs that are being done, or may be soon.
    public var jobCount: Int { machine.jobCount }

    /// Works until `drain()` has come to its end, the task is cancelled, or the server does not take the worker. When
    /// the task is cancelled its jobs are, and count as failed, so that another worker does them; it returns when their
    /// functions have, and some seconds after `shutdownTime` in any case.
    public func run() async throws(AgentWorkerError) {
        guard !hasRun else { throw .alreadyRun }
        hasRun = true
        // A task of its own: its stream would end with ours before it has said goodbye.
        let working = Task { await work() }
        let failure = await withTaskCancellationHandler {
            await working.value
        } onCancel: {
            happened.yield(.stop)
        }
        if let failure { throw failure }
    }

    /// Takes no more jobs; `run()` returns when those that there are have ended. Repeatable, and from anywhere: what a
    /// program does when it is asked to end (SIGTERM).
    public nonisolated func drain() { happened.yield(.drain) }

    // MARK: The machine

    private func work() async -> AgentWorkerError? {
        let measuring = options.load.map { load in
            Task { [happened] in
                repeat {
                    happened.yield(.load(await load()))
                } while (try? await Task.sleep(for: Self.loadInterval)) != nil
            }
        }
        defer {
            measuring?.cancel()
            timer.cancel()
            happened.finish()
        }
        machine.begin()
        var end = apply()
        if end == nil {
            for await happening in happenings {
                take(happening, at: NetworkLoop.now)
                end = apply()
                if end != nil { break }
            }
        }
        // What was said last arrives, and rooms are left.
        generation += 1
        await socket?.finish(within: Self.goodbyeTime)
        socket = nil
        for job in running.values { await job.task.value }
        for task in leaving.values { await task.value }
        return end ?? nil
    }

    private func take(_ happening: Happening, at now: Instant) {
        switch happening {
        case .socket(let fact, let generation):
            if generation == self.generation { take(fact, at: now) }
        case .answered(let id, let number, let answer):
            asked[number] = nil
            machine.answer(id, number: number, answer, at: now)
        case .ended(let id, let outcome): machine.ended(id, outcome, at: now)
        case .left(let id): running[id] = nil
        case .roomLeft(let id): leaving[id] = nil
        case .load(let load): machine.loadChanged(load)
        case .timePassed:
            timer.rang()
            machine.tick(at: now)
        case .drain: machine.drain()
        case .stop: machine.stop(at: now)
        }
    }

    private func take(_ fact: BinarySocket.Fact, at now: Instant) {
        switch fact {
        case .open: machine.opened(at: now)
        case .message(let bytes):
            // What cannot be read, or is of a protocol newer than ours, is passed over.
            guard let message = try? LiveKitServerMessage(serializedBytes: bytes).message else { return }
            machine.receive(message, at: now)
        case .closed(.invalidURL): machine.lost(.invalidURL(url), at: now)
        case .closed(.refused(let status, let message)):
            machine.lost(.refused(status: status, message: message), at: now)
        case .closed(.lost(let how)): machine.lost(.unreachable(how), at: now)
        }
    }

    /// Does what the machine wants.
    ///
    /// - Returns: how it has ended; nil while it goes on.
    private func apply() -> AgentWorkerError?? {
        while let output = machine.pollOutput() {
            switch output {
            case .open: open()
            case .close: close()
            case .send(let message):
                let message = LiveKitWorkerMessage.with { $0.message = message }
                if let bytes: [UInt8] = try? message.serializedBytes() { socket?.send(bytes) }
            case .ask(let job, let number):
                asked[number] = Task { [happened, options] in
                    happened.yield(.answered(jobID: job.id, number: number, await options.answer(job)))
                }
            case .forget(let number): asked.removeValue(forKey: number)?.cancel()
            case .start(let job, let url, let token): start(job, url: url ?? self.url, token: token)
            case .leave(let id): leaveRoom(of: id, running[id]?.context)
            case .cancel(let id): running[id]?.task.cancel()
            case .abandon(let id): leaveRoom(of: id, running.removeValue(forKey: id)?.context)
            case .tell(let event): options.onEvent(event)
            case .end(let failure): return .some(failure)
            }
        }
        schedule()
        return nil
    }

    private func start(_ job: AgentJob, url: String, token: String) {
        let context = AgentJobContext(job, in: Room(options: options.connect), url: url, token: token)
        let task = Task { [happened, perform = self.job] in
            var outcome = AgentWorkerMachine.Outcome()
            do {
                try await perform(context)
            } catch {
                outcome.error = "\(error)"
            }
            outcome.wasCancelled = Task.isCancelled
            // LiveKit's server takes an agent that leaves before its worker has said a word for one that has failed;
            // and one that comes again after a failure may have the same identity.
            if outcome.error == nil { happened.yield(.ended(jobID: job.id, outcome)) }
            await context.leave()
            if outcome.error != nil { happened.yield(.ended(jobID: job.id, outcome)) }
            happened.yield(.left(jobID: job.id))
        }
        running[job.id] = Running(context: context, task: task)
    }

    private func leaveRoom(of id: String, _ context: AgentJobContext?) {
        guard let context else { return }
        leaving[id] = Task { [happened] in
            await context.leave()
            happened.yield(.roomLeft(jobID: id))
        }
    }

    private func schedule() {
        timer.set(to: machine.nextWake) { [happened] in happened.yield(.timePassed) }
    }

    // MARK: The connection

    private func open() {
        close()
        var grants = VideoGrants()
        grants.agent = true
        var claims = AccessToken.Claims()
        claims.video = grants
        let token = AccessToken(claims: claims, at: Date(), validFor: Self.tokenValidity)
        guard let signed = try? token.signed(with: key) else {
            return machine.lost(.unreachable("no token can be signed"), at: NetworkLoop.now)
        }
        var target = BinarySocket.Target(url: url, path: "/agent")
        target.headers = [("Authorization", "Bearer \(signed)")]
        target.verifiesCertificates = options.connect.verifiesCertificates
        socket = BinarySocket(to: target) { [happened, generation] fact in
            happened.yield(.socket(fact, generation: generation))
        }
    }

    private func close() {
        generation += 1
        socket?.close()
        socket = nil
    }
}
