import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Synchronization
import Testing

@testable import LiveKitCore

/// Kinds of work for which there are workers.
final class AgentKinds: Sendable {
    static let none = AgentKinds()
    static let all = AgentKinds(nil)

    private let state: Mutex<Set<AgentKind>?>

    /// - Parameter kinds: nil for all there could be.
    init(_ kinds: Set<AgentKind>? = []) { state = Mutex(kinds) }

    var kinds: Set<AgentKind>? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    func contains(_ kind: AgentKind) -> Bool { kinds?.contains(kind) ?? true }
}

/// A pool of agents in virtual time, and what was said in it as lines.
final class AgentHall {
    private(set) var pool = AgentPool(
        server: ServerDescription().info, limits: RoomLimits(), random: .seeded(11),
        wallClockOffset: .seconds(Venue.start))
    private(set) var now = Instant.zero + .seconds(Int64(1))
    /// All that was said.
    private(set) var lines: [String] = []
    private(set) var subjects: [TokenSubject] = []
    private(set) var states: [LiveKitJobState] = []
    private var names: [AgentWorkerID: String] = [:]
    /// Whom each job was given last to answer for.
    private var questions: [String: AgentWorkerID] = [:]
    private var taken = 0

    /// What was said since the last time, without what workers say.
    @discardableResult
    func take() -> [String] {
        defer { taken = lines.count }
        return lines[taken...].filter { !$0.contains(" > ") }
    }

    /// Time goes by.
    func pass(_ time: Interval) {
        let end = now + time
        while let wake = pool.nextWake, wake <= end {
            now = max(now, wake)
            pool.tick(at: now)
            drain()
            // What is due is done: otherwise a server would do nothing else.
            if let next = pool.nextWake, next <= now { Issue.record("still due"); break }
        }
        now = end
    }

    // MARK: Workers

    func connect() -> AgentWorkerID {
        let id = pool.connect(key: "key", at: now)
        names[id] = ["ada", "bea", "cia", "dia"][names.count]
        return id
    }

    @discardableResult
    func register(
        _ name: String, type: LiveKitJobType = .jtRoom, deployment: String = "",
        permission: LiveKitParticipantPermission? = nil
    ) -> AgentWorkerID {
        let id = connect()
        say(
            id,
            .register(
                .with {
                    $0.agentName = name
                    $0.type = type
                    $0.deployment = deployment
                    if let permission { $0.allowedPermissions = permission }
                }))
        return id
    }

    func say(_ worker: AgentWorkerID, _ message: LiveKitWorkerMessage.OneOf_Message) {
        lines.append("\(names[worker] ?? "") > \(Self.text(message))")
        pool.receive(.with { $0.message = message }, from: worker, at: now)
        drain()
    }

    func vanish(_ worker: AgentWorkerID) {
        pool.disconnect(worker, at: now)
        drain()
    }

    func fare(_ worker: AgentWorkerID, isFull: Bool = false, load: Float = 0) {
        say(
            worker,
            .updateWorker(
                .with {
                    $0.status = isFull ? .wsFull : .wsAvailable
                    $0.load = load
                }))
    }

    func accept(
        _ job: String, by worker: AgentWorkerID, identity: String = "agent",
        _ change: (inout LiveKitAvailabilityResponse) -> Void = { _ in }
    ) {
        var answer = LiveKitAvailabilityResponse.with {
            $0.jobID = job
            $0.available = true
            $0.participantIdentity = identity
        }
        change(&answer)
        say(worker, .availability(answer))
    }

    func refuse(_ job: String, by worker: AgentWorkerID) { say(worker, .availability(.with { $0.jobID = job })) }

    /// Who was asked last.
    func asked(_ job: String) -> AgentWorkerID {
        _ = take()
        return questions[job] ?? AgentWorkerID(rawValue: 0)
    }

    // MARK: Rooms

    func launch(_ job: String, _ name: String, metadata: String = "", isResumed: Bool = false) {
        let job = LiveKitJob.with {
            $0.id = job
            $0.agentName = name
            $0.metadata = metadata
            $0.room = .with { $0.name = "lounge" }
        }
        pool.take(.launch(job, isResumed: isResumed), at: now)
        drain()
    }

    func terminate(_ job: String, _ reason: AgentJobEnd) {
        pool.take(.terminate(jobID: job, because: reason), at: now)
        drain()
    }

    // MARK: Lines

    private func drain() {
        while let output = pool.pollOutput() { take(output) }
    }

    private func take(_ output: AgentPoolOutput) {
        switch output {
        case .send(let id, let message):
            if case .availability(let request)? = message.message { questions[request.job.id] = id }
            lines.append("\(names[id] ?? "") < \(Self.text(message))")
        case .assign(let id, let job, let subject, let key):
            #expect(key == "key")
            subjects.append(subject)
            lines.append("\(names[id] ?? "") < assigned \(job.id)")
        case .close(let id, let reason): lines.append("\(names[id] ?? "") closed: \(reason)")
        case .told(let room, let job, let change):
            #expect(room == "lounge")
            if case .state(let state) = change { states.append(state) }
            lines.append("\(job) \(Self.text(change))")
        case .came(let kind): lines.append("came \(kind.name)")
        }
    }

    private static func text(_ change: AgentJobChange) -> String {
        switch change {
        case .noWorker: return "none"
        case .workerLost: return "lost"
        case .state(let state):
            let name =
                state.participantIdentity.isEmpty || state.participantIdentity == "agent"
                ? "" : ", \(state.participantIdentity)"
            let error = state.error.isEmpty ? "" : ": \(state.error)"
            let status =
                switch state.status {
                case .jsPending: "waits"
                case .jsRunning: "running"
                case .jsSuccess: "succeeded"
                case .jsFailed: "failed"
                case .jsCancelled: "cancelled"
                case .UNRECOGNIZED: "?"
                }
            return status + name + error
        }
    }

    private static func text(_ message: LiveKitServerMessage) -> String {
        switch message.message {
        case .register(let response):
            "registered \(response.serverInfo.version), agents \(response.serverInfo.agentProtocol)"
        case .availability(let request):
            "available? \(request.job.id) for \(request.job.room.name)" + (request.resuming ? ", again" : "")
        case .assignment(let assignment): "assigned \(assignment.job.id)"
        case .termination(let termination): "end \(termination.jobID)"
        case .pong(let pong): "pong \(pong.lastTimestamp), \(pong.timestamp)"
        case nil: "nothing"
        }
    }

    private static func text(_ message: LiveKitWorkerMessage.OneOf_Message) -> String {
        switch message {
        case .register(let request): "register \(request.agentName)"
        case .availability(let answer): "\(answer.jobID) \(answer.available ? "yes" : "no")"
        case .updateWorker(let update): "\(update.status) \(update.load)"
        case .updateJob(let update): "\(update.jobID) \(update.status == .jsSuccess ? "succeeded" : "failed")"
        case .ping(let ping): "ping \(ping.timestamp)"
        case .simulateJob(let request): "simulate in \(request.room.name)"
        case .migrateJob(let request): "has \(request.jobIds.joined(separator: ", "))"
        }
    }
}
