package import LiveKitProtocol
package import RTCEngine
import SwiftProtobuf

/// Names the connection of one worker, for as long as that lives.
package struct AgentWorkerID: Sendable, Hashable {
    package let rawValue: UInt64
}

/// What an `AgentPool` asks of its owner, oldest first.
package enum AgentPoolOutput: Sendable {
    case send(AgentWorkerID, LiveKitServerMessage)
    /// The worker is to have this job, with a token for its agent, which the API key of that name signs.
    case assign(AgentWorkerID, LiveKitJob, TokenSubject, key: String)
    /// The connection is to be closed; nothing more comes for it.
    case close(AgentWorkerID, String)
    /// For `RoomMachine.agentJobChanged` of the room of that name.
    case told(room: String, job: String, AgentJobChange)
    /// For `RoomMachine.agentsCame` of every room: workers of that kind are there that were not before.
    case came(AgentKind)
}

/// The workers of a server and the jobs they do: who is asked, who takes it, what becomes of it. LiveKit's protocol of
/// agents (`livekit_agent.proto`), without sockets and clock.
///
/// Rooms order jobs (`RoomOutput.agents`). A worker of the job's kind that has room is asked whether it is available,
/// those with less to do before the others; who says yes gets the job and a token, and sends an agent into the room.
/// Where nobody has room, the job waits until somebody has.
///
/// Afterwards its owner drains `pollOutput`, and calls `tick` when `nextWake` has come.
package struct AgentPool {
    /// So long a connection has to say what it is.
    static let registerTime = Interval.seconds(Int64(10))
    /// And a worker to say whether it takes a job.
    static let answerTime = Interval.seconds(Int64(10))
    /// A worker that has refused for want of room says so this soon: it tells how it fares every 2.5 seconds.
    static let judgementTime = Interval.seconds(Int64(5))
    /// A worker whose connection is gone comes back this soon, and says what it is still doing.
    static let returnTime = Interval.seconds(Int64(15))
    /// Connections, for its owner to keep to, and jobs that nobody has taken yet.
    package static let workerLimit = 1_000
    static let waitingLimit = 10_000

    private(set) var workers: [AgentWorkerID: AgentWorker] = [:]
    private(set) var jobs: [String: PooledJob] = [:]
    private var lastJob: UInt64 = 0
    /// Jobs that are over, since it began.
    package private(set) var ended = (failed: 0, others: 0)
    private let server: LiveKitServerInfo
    private var random: EngineRandom
    private var wallClockOffset: Interval
    private var lastWorker: UInt64 = 0
    private var outputs: [AgentPoolOutput] = []
    private var firstOutput = 0

    /// - Parameters:
    ///   - server: what workers are told of it.
    ///   - random: for ids and for the choice among workers.
    package init(server: LiveKitServerInfo, random: EngineRandom, wallClockOffset: Interval) {
        self.server = server
        self.random = random
        self.wallClockOffset = wallClockOffset
    }

    package mutating func follow(wallClockOffset: Interval) { self.wallClockOffset = wallClockOffset }

    /// The next output; nil when there is none.
    package mutating func pollOutput() -> AgentPoolOutput? {
        guard firstOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            firstOutput = 0
            return nil
        }
        defer { firstOutput += 1 }
        return outputs[firstOutput]
    }

    private mutating func put(_ output: AgentPoolOutput) { outputs.append(output) }

    /// Nanoseconds since 1970.
    private func wallClock(_ now: Instant) -> Int64 { (now + wallClockOffset).nanoseconds }

    // MARK: Workers

    /// Somebody has connected, with a token of this API key that allows it.
    package mutating func connect(key: String, at now: Instant) -> AgentWorkerID {
        lastWorker += 1
        let id = AgentWorkerID(rawValue: lastWorker)
        workers[id] = AgentWorker(sid: random.sid("AW_"), key: key, connectedAt: now)
        return id
    }

    /// Kinds of work that a worker is there for, whether it has room or not.
    package var kinds: Set<AgentKind> { Set(workers.values.compactMap(\.kind)) }

    package mutating func receive(_ message: LiveKitWorkerMessage, from id: AgentWorkerID, at now: Instant) {
        guard let worker = workers[id], let said = message.message else { return }
        switch said {
        case .ping(let ping):
            return put(
                .send(
                    id,
                    .with {
                        $0.pong = .with {
                            $0.lastTimestamp = ping.timestamp
                            $0.timestamp = wallClock(now) / 1_000_000
                        }
                    }))
        case .register(let request) where worker.kind == nil: return register(id, request, at: now)
        case .register: return drop(id, "this worker has registered already", at: now)
        case .availability, .updateWorker, .updateJob, .simulateJob, .migrateJob: break
        }
        guard worker.kind != nil else { return drop(id, "a worker registers first", at: now) }
        switch said {
        case .availability(let answer): take(answer, from: id, at: now)
        case .updateWorker(let update): take(update, from: id, at: now)
        case .updateJob(let update): take(update, from: id, at: now)
        case .simulateJob(let request): simulate(request, for: id, at: now)
        case .migrateJob(let request): claim(request.jobIds + request.jobs.map(\.id), by: id)
        case .ping, .register: break
        }
    }

    private mutating func register(_ id: AgentWorkerID, _ request: LiveKitRegisterWorkerRequest, at now: Instant) {
        guard LiveKitJobType.allCases.contains(request.type) else { return drop(id, "unknown job type", at: now) }
        guard request.deployment.isDeployment else {
            return drop(id, "a deployment's name has no white space and no _", at: now)
        }
        let kind = AgentKind(name: request.agentName, type: request.type, deployment: request.deployment)
        let isNew = !kinds.contains(kind)
        workers[id]?.kind = kind
        if request.hasAllowedPermissions { workers[id]?.permission = request.allowedPermissions }
        let sid = workers[id]?.sid ?? ""
        put(
            .send(
                id,
                .with {
                    $0.register = .with {
                        $0.workerID = sid
                        $0.serverInfo = server
                    }
                }))
        if isNew { put(.came(kind)) }
        assignWaiting(of: kind, at: now)
    }

    private mutating func drop(_ id: AgentWorkerID, _ reason: String, at now: Instant) {
        put(.close(id, reason))
        disconnect(id, at: now)
    }

    /// The connection is over.
    package mutating func disconnect(_ id: AgentWorkerID, at now: Instant) {
        guard workers.removeValue(forKey: id) != nil else { return }
        for job in ordered {
            // Nobody else is to do it.
            guard job.only != id else { forget(job.id); continue }
            switch job.phase {
            case .asked(id, _): lookFurther(job.id, at: now)
            case .running(id): update(job.id) { $0.phase = .lost(until: now + Self.returnTime) }
            // It has left in good order.
            case .leaving(id): end(job.id, .jsSuccess, at: now)
            case .waiting, .asked, .running, .lost, .missing, .leaving: break
            }
        }
    }

    /// How a worker fares.
    private mutating func take(_ update: LiveKitUpdateWorkerStatus, from id: AgentWorkerID, at now: Instant) {
        guard var worker = workers[id], let kind = worker.kind else { return }
        if update.hasStatus { worker.isFull = update.status == .wsFull }
        worker.load = update.load.isFinite ? min(max(update.load, 0), 1) : 1
        worker.isDraining = update.draining
        workers[id] = worker
        if worker.isFull {
            // It has not refused the job as such.
            for job in ordered { self.update(job.id) { $0.refusals.removeAll { $0.worker == id && !$0.isFinal } } }
        }
        if worker.hasRoom { assignWaiting(of: kind, at: now) }
    }

    // MARK: Jobs

    /// What a room asks for.
    package mutating func take(_ order: AgentOrder, at now: Instant) {
        switch order {
        case .launch(let job, let isResumed):
            guard kinds.contains(AgentKind(of: job)) else {
                return put(.told(room: job.room.name, job: job.id, .noWorker))
            }
            add(PooledJob(job, isResumed: isResumed))
            guard jobs.values.count(where: \.isUntaken) <= Self.waitingLimit else {
                return end(job.id, .jsFailed, "too many jobs are waiting", .jsrNoCapacity, at: now)
            }
            assign(job.id, at: now)
        case .terminate(let id, let reason): terminate(id, because: reason, at: now)
        }
    }

    private mutating func assignWaiting(of kind: AgentKind, at now: Instant) {
        for job in ordered where job.phase == .waiting && job.kind == kind { assign(job.id, at: now) }
    }

    /// Asks a worker whether it takes the job, if there is one to ask.
    private mutating func assign(_ id: String, at now: Instant) {
        guard let job = jobs[id] else { return }
        let eligible = workers.filter { $0.value.kind == job.kind && (job.only ?? $0.key) == $0.key }
        let askable = eligible.filter { worker in
            worker.value.hasRoom && !job.refusals.contains { $0.worker == worker.key }
        }
        guard let worker = choose(among: askable) else { return wait(id, at: now) }
        let (time, sid) = (wallClock(now), workers[worker]?.sid ?? "")
        update(id) {
            $0.phase = .asked(worker, until: now + Self.answerTime)
            $0.job.state = .with {
                $0.status = .jsRunning
                $0.workerID = sid
                $0.startedAt = time
                $0.updatedAt = time
            }
        }
        guard let asked = jobs[id] else { return }
        put(
            .send(
                worker,
                .with {
                    $0.availability = .with {
                        $0.job = asked.job
                        $0.resuming = asked.isResumed
                    }
                }))
    }

    /// The less one has to do, the likelier it is chosen, as by LiveKit's server: jobs that come at once are spread
    /// before anybody has told of a load.
    private mutating func choose(among workers: [AgentWorkerID: AgentWorker]) -> AgentWorkerID? {
        let all = workers.sorted { $0.key.rawValue < $1.key.rawValue }
        let sum = all.reduce(0) { $0 + $1.value.room }
        guard sum > 0 else { return nil }
        var rest = Float(random.next() >> 40) / Float(1 << 24) * sum
        for (id, worker) in all {
            rest -= worker.room
            if rest < 0 { return id }
        }
        return all.last?.key
    }

    /// Nobody can be asked: the job waits if somebody may be later.
    private mutating func wait(_ id: String, at now: Instant) {
        guard let job = jobs[id] else { return }
        let eligible = workers.filter { $0.value.kind == job.kind && (job.only ?? $0.key) == $0.key }
        let haveRefused = eligible.keys.allSatisfy { worker in
            job.refusals.contains { $0.worker == worker && $0.isFinal }
        }
        guard eligible.isEmpty || !haveRefused else {
            return end(id, .jsFailed, "no worker has taken the job", .jsrNoCapacity, at: now)
        }
        let time = wallClock(now)
        update(id) {
            $0.phase = .waiting
            $0.job.state = .with {
                $0.status = .jsPending
                $0.reason = .jsrNoCapacity
                $0.updatedAt = time
            }
        }
        guard !job.isSaidToWait else { return }
        update(id) { $0.isSaidToWait = true }
        tell(id)
    }

    /// Whoever was asked does not do it.
    private mutating func lookFurther(_ id: String, at now: Instant) {
        update(id) { $0.phase = .waiting }
        assign(id, at: now)
    }

    private mutating func take(_ answer: LiveKitAvailabilityResponse, from id: AgentWorkerID, at now: Instant) {
        // Too late, or not asked.
        guard let job = jobs[answer.jobID], case .asked(id, _) = job.phase else { return }
        guard !answer.terminate else { return end(job.id, .jsSuccess, at: now) }
        guard answer.available else {
            update(job.id) { $0.refusals.append(Refusal(worker: id, at: now)) }
            return lookFurther(job.id, at: now)
        }
        guard let worker = workers[id] else { return }
        let identity = answer.participantIdentity.isEmpty ? "agent-\(job.id)" : answer.participantIdentity
        update(job.id) {
            $0.phase = .running(id)
            $0.refusals = []
            $0.job.state.participantIdentity = identity
        }
        guard let assigned = jobs[job.id]?.job else { return }
        put(.assign(id, assigned, worker.subject(identity, answer, inRoom: assigned.room.name), key: worker.key))
        tell(job.id)
    }

    /// A worker says what has become of a job of its own.
    private mutating func take(_ update: LiveKitUpdateJobStatus, from id: AgentWorkerID, at now: Instant) {
        guard let job = jobs[update.jobID] else { return }
        switch job.phase {
        case .running(id), .leaving(id): break
        default: return
        }
        let time = wallClock(now)
        switch update.status {
        case .jsSuccess, .jsFailed: end(job.id, update.status, update.error, at: now)
        case .jsRunning: self.update(job.id) { $0.job.state.updatedAt = time }
        case .jsPending, .jsCancelled, .UNRECOGNIZED: break
        }
    }

    /// A worker that has come back says what it is still doing.
    private mutating func claim(_ ids: [String], by id: AgentWorkerID) {
        guard let worker = workers[id] else { return }
        for job in ordered where ids.contains(job.id) && job.kind == worker.kind {
            switch job.phase {
            case .lost, .missing:
                update(job.id) {
                    $0.phase = .running(id)
                    $0.job.state.workerID = worker.sid
                }
            case .waiting, .asked, .running, .leaving: break
            }
        }
    }

    /// Whoever develops an agent tries it, in a room that may not be there.
    private mutating func simulate(_ request: LiveKitSimulateJobRequest, for id: AgentWorkerID, at now: Instant) {
        guard let kind = workers[id]?.kind, jobs.values.count(where: \.isUntaken) < Self.waitingLimit else { return }
        let job = LiveKitJob.with {
            $0.id = random.sid("AJ_")
            $0.type = kind.type
            $0.room = request.room
            if request.hasParticipant { $0.participant = request.participant }
            $0.agentName = kind.name
            $0.deployment = kind.deployment
        }
        add(PooledJob(job, isResumed: false, only: id))
        assign(job.id, at: now)
    }

    private mutating func terminate(_ id: String, because reason: AgentJobEnd, at now: Instant) {
        guard let job = jobs[id] else { return }
        switch job.phase {
        case .waiting, .asked: end(id, .jsCancelled, "", reason.stateReason, at: now)
        case .running(let worker):
            put(.send(worker, .with { $0.termination = .with { $0.jobID = id } }))
            if reason == .agentLeft {
                // It may have much to do yet: what was said is written down, or sent somewhere.
                update(id) { $0.phase = .leaving(worker) }
            } else {
                end(id, .jsSuccess, "", reason.stateReason, at: now)
            }
        case .lost, .missing:
            let isOver = reason == .roomEnded || reason == .dispatchDeleted
            end(id, isOver ? .jsSuccess : .jsFailed, isOver ? "" : "the worker is gone", reason.stateReason, at: now)
        case .leaving where reason != .agentLeft: end(id, .jsSuccess, "", reason.stateReason, at: now)
        case .leaving: break
        }
    }

    private mutating func end(
        _ id: String, _ status: LiveKitJobStatus, _ error: String = "", _ reason: LiveKitJobStateReason? = nil,
        at now: Instant
    ) {
        let time = wallClock(now)
        update(id) {
            $0.job.state.status = status
            $0.job.state.error = error
            $0.job.state.reason = reason ?? .jsrUnspecified
            $0.job.state.updatedAt = time
            $0.job.state.endedAt = time
        }
        if status == .jsFailed { ended.failed += 1 } else { ended.others += 1 }
        tell(id)
        forget(id)
    }

    private mutating func tell(_ id: String) {
        guard let job = jobs[id], !job.isSimulated else { return }
        put(.told(room: job.job.room.name, job: id, .state(job.job.state)))
    }

    /// The oldest first.
    private var ordered: [PooledJob] { jobs.values.sorted { $0.number < $1.number } }

    private mutating func add(_ job: PooledJob) {
        var job = job
        lastJob += 1
        job.number = lastJob
        jobs[job.id] = job
    }

    private mutating func forget(_ id: String) { jobs[id] = nil }

    private mutating func update(_ id: String, _ change: (inout PooledJob) -> Void) {
        guard var job = jobs.removeValue(forKey: id) else { return }
        change(&job)
        jobs[id] = job
    }

    // MARK: Time

    /// When `tick` is next wanted; nil when nothing is pending.
    package var nextWake: Instant? {
        var next: Instant?
        func note(_ time: Instant) { next = next.map { min($0, time) } ?? time }
        for worker in workers.values where worker.kind == nil { note(worker.connectedAt + Self.registerTime) }
        for job in ordered {
            switch job.phase {
            case .asked(_, let end), .lost(let end): note(end)
            case .waiting:
                for refusal in job.refusals where !refusal.isFinal { note(refusal.at + Self.judgementTime) }
            case .running, .missing, .leaving: break
            }
        }
        return next
    }

    /// Does what has fallen due.
    package mutating func tick(at now: Instant) {
        for (id, worker) in workers where worker.kind == nil && now >= worker.connectedAt + Self.registerTime {
            drop(id, "no worker has registered in time", at: now)
        }
        for job in ordered {
            switch job.phase {
            case .asked(let worker, let end) where now >= end:
                update(job.id) { $0.refusals.append(Refusal(worker: worker, at: now, isFinal: true)) }
                lookFurther(job.id, at: now)
            case .lost(let end) where now >= end:
                update(job.id) { $0.phase = .missing }
                put(.told(room: job.job.room.name, job: job.id, .workerLost))
            case .waiting:
                let due = job.refusals.filter { !$0.isFinal && now >= $0.at + Self.judgementTime }
                guard !due.isEmpty else { continue }
                update(job.id) { job in
                    for place in job.refusals.indices where now >= job.refusals[place].at + Self.judgementTime {
                        job.refusals[place].isFinal = true
                    }
                }
                assign(job.id, at: now)
            case .asked, .running, .lost, .missing, .leaving: break
            }
        }
    }

    // MARK: What there is

    /// Of workers, registered or not.
    package var connectionCount: Int { workers.count }
    /// Those that have registered.
    package var workerCount: Int { workers.values.count { $0.kind != nil } }
    /// Jobs that nobody has taken yet, and those that somebody has.
    package var waitingCount: Int { jobs.values.count(where: \.isUntaken) }
    package var runningCount: Int { jobs.count - waitingCount }
}

extension AgentJobEnd {
    fileprivate var stateReason: LiveKitJobStateReason {
        switch self {
        case .dispatchDeleted: .jsrDispatchDeleted
        case .roomEnded: .jsrRoomClosed
        case .targetLeft, .agentLeft, .agentMissing: .jsrUnspecified
        }
    }
}
