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
    /// For `RoomMachine.agentsCame` of every room: a worker of that kind has come.
    case came(AgentKind)
}

/// The workers of a server and the jobs they do: who is asked, who takes it, what becomes of it. LiveKit's protocol of
/// agents (`livekit_agent.proto`), without sockets and clock.
///
/// Rooms order jobs (`RoomOutput.agents`). A worker of the job's kind that has room is asked whether it is available,
/// those with less to do before the others, and one job at a time; who says yes gets the job and a token, and sends an
/// agent into the room. Where nobody has room, the job waits until somebody has. How jobs go is in `AgentPool+Jobs`.
///
/// Afterwards its owner drains `pollOutput`, and calls `tick` when `nextWake` has come.
package struct AgentPool {
    /// So long a connection has to say what it is.
    static let registerTime = Interval.seconds(Int64(10))
    /// And a worker to say whether it takes a job.
    static let answerTime = Interval.seconds(Int64(10))
    /// A worker that has refused for want of room says so this soon: LiveKit's tell how they fare every 2.5 seconds.
    static let judgementTime = Interval.seconds(Int64(10))
    /// Who has refused a job so often is not asked again. LiveKit's framework refuses while a process of it is
    /// starting, and says for good that it does not want a job.
    static let refusalLimit = 10
    /// So many jobs a worker is given between two words of how it fares, or in that time: its load follows its jobs.
    static let givenLimit = 10
    static let givenTime = Interval.seconds(Int64(3))
    /// A worker whose connection is gone comes back this soon, and says what it is still doing.
    static let returnTime = Interval.seconds(Int64(15))
    /// An agent has said goodbye to its room: so long its worker has to say how the job came out. Not every framework
    /// says it.
    static let verdictTime = Interval.seconds(Int64(600))
    /// And so long where the agent was cut off, and its process is to end.
    static let endTime = Interval.seconds(Int64(15))
    /// Connections, for its owner to keep to.
    package static let workerLimit = 1_000
    /// Jobs of one kind that nobody has taken yet.
    static let waitingLimit = 10_000
    /// Jobs that a worker tries by itself, at the same time.
    static let simulationLimit = 5
    /// Of what a worker says of a failure, in characters.
    static let errorLength = 1_000
    static let cutOff = "the agent was cut off from its room"

    var workers: [AgentWorkerID: AgentWorker] = [:]
    var jobs: [String: PooledJob] = [:]
    /// Those that wait, in the order in which they were ordered.
    var queues: [AgentKind: [String]] = [:]
    /// Jobs that are over, since it began.
    package internal(set) var ended = (failed: 0, others: 0)
    let limits: RoomLimits
    private let server: LiveKitServerInfo
    var random: EngineRandom
    private var wallClockOffset: Interval
    private var lastWorker: UInt64 = 0
    private var outputs: [AgentPoolOutput] = []
    private var firstOutput = 0

    /// - Parameters:
    ///   - server: what workers are told of it.
    ///   - limits: of what may be said of an agent, as of anybody else in a room.
    ///   - random: for ids and for the choice among workers.
    package init(server: LiveKitServerInfo, limits: RoomLimits, random: EngineRandom, wallClockOffset: Interval) {
        self.server = server
        self.limits = limits
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

    mutating func put(_ output: AgentPoolOutput) { outputs.append(output) }

    /// Nanoseconds since 1970.
    func wallClock(_ now: Instant) -> Int64 { (now + wallClockOffset).nanoseconds }

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
        workers[id]?.isSilent = false
        switch said {
        case .ping(let ping):
            let time = wallClock(now) / 1_000_000
            return put(
                .send(
                    id,
                    .with {
                        $0.pong = .with {
                            $0.lastTimestamp = ping.timestamp
                            $0.timestamp = time
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
        case .migrateJob(let request): claim(Set(request.jobIds + request.jobs.map(\.id)), by: id, at: now)
        case .ping, .register: break
        }
        if worker.isSilent, let kind = worker.kind { assignWaiting(of: kind, at: now) }
    }

    private mutating func register(_ id: AgentWorkerID, _ request: LiveKitRegisterWorkerRequest, at now: Instant) {
        guard LiveKitJobType.allCases.contains(request.type) else { return drop(id, "unknown job type", at: now) }
        guard request.deployment.isDeployment else { return drop(id, "\(RoomServiceError.badDeployment)", at: now) }
        guard request.agentName.utf8.count <= limits.nameBytes else {
            return drop(id, "\(RoomServiceError.nameTooLong(limit: limits.nameBytes))", at: now)
        }
        let kind = AgentKind(name: request.agentName, type: request.type, deployment: request.deployment)
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
        put(.came(kind))
        assignWaiting(of: kind, at: now)
    }

    private mutating func drop(_ id: AgentWorkerID, _ reason: String, at now: Instant) {
        put(.close(id, reason))
        disconnect(id, at: now)
    }

    /// The connection is over.
    package mutating func disconnect(_ id: AgentWorkerID, at now: Instant) {
        guard let worker = workers.removeValue(forKey: id) else { return }
        for job in ordered where job.isOf(id) {
            // Nobody else is to do it.
            guard job.only == nil else {
                forget(job.id)
                continue
            }
            switch job.phase {
            case .asked: wait(job.id, at: now)
            case .running:
                update(job.id) {
                    $0.phase = .lost(until: now + Self.returnTime)
                    $0.lostAt = now
                }
            case .leaving(_, _, let wasCutOff):
                end(job.id, wasCutOff ? .jsFailed : .jsSuccess, wasCutOff ? Self.cutOff : "", at: now)
            case .waiting, .lost, .missing: break
            }
        }
        if let kind = worker.kind { assignWaiting(of: kind, at: now) }
    }

    /// How a worker fares.
    private mutating func take(_ update: LiveKitUpdateWorkerStatus, from id: AgentWorkerID, at now: Instant) {
        guard var worker = workers[id], let kind = worker.kind else { return }
        if update.hasStatus { worker.isFull = update.status == .wsFull }
        worker.load = update.load.isFinite ? min(max(update.load, 0), 1) : 1
        worker.isDraining = update.draining
        worker.given = 0
        workers[id] = worker
        for job in queues[kind] ?? [] where jobs[job]?.refusals.isEmpty == false {
            self.update(job) { $0.hear(of: id, isFull: worker.isFull) }
        }
        assignWaiting(of: kind, at: now)
    }

    // MARK: Time

    /// When `tick` is next wanted; nil when nothing is pending.
    package var nextWake: Instant? {
        var next: Instant?
        func note(_ time: Instant) { next = next.map { min($0, time) } ?? time }
        for worker in workers.values {
            if worker.kind == nil { note(worker.connectedAt + Self.registerTime) }
            if worker.given >= Self.givenLimit, let kind = worker.kind, queues[kind]?.isEmpty == false {
                note(worker.givenSince + Self.givenTime)
            }
        }
        for job in jobs.values {
            switch job.phase {
            case .asked(_, let end), .lost(let end), .leaving(_, let end, _): note(end)
            case .waiting: for refusal in job.refusals where refusal.isOpen { note(refusal.at + Self.judgementTime) }
            case .running, .missing: break
            }
        }
        return next
    }

    /// Does what has fallen due.
    package mutating func tick(at now: Instant) {
        for (id, worker) in workers where worker.kind == nil && now >= worker.connectedAt + Self.registerTime {
            drop(id, "no worker has registered in time", at: now)
        }
        for (id, worker) in workers where now >= worker.givenSince + Self.givenTime { workers[id]?.given = 0 }
        for job in ordered {
            switch job.phase {
            case .asked(let worker, let end) where now >= end:
                // It may hang, or be gone without anybody knowing: nothing more is asked of it until it says something.
                workers[worker]?.asked = nil
                workers[worker]?.isSilent = true
                wait(job.id, at: now)
            case .lost(let end) where now >= end:
                // Its agent has left while nobody could say how that came about.
                if let reason = job.left {
                    settle(job.id, as: reason, at: now)
                } else {
                    update(job.id) { $0.phase = .missing }
                    put(.told(room: job.job.room.name, job: job.id, .workerLost))
                }
            case .leaving(_, let end, let wasCutOff) where now >= end:
                self.end(job.id, wasCutOff ? .jsFailed : .jsSuccess, wasCutOff ? Self.cutOff : "", at: now)
            case .waiting: update(job.id) { $0.judge(at: now) }
            case .asked, .running, .lost, .missing, .leaving: break
            }
        }
        for kind in Array(queues.keys) { assignWaiting(of: kind, at: now) }
    }

    // MARK: What there is

    /// Those that have registered.
    package var workerCount: Int { workers.values.count { $0.kind != nil } }
    /// Jobs that nobody has taken yet, and those that somebody has.
    package var waitingCount: Int {
        queues.values.reduce(0) { $0 + $1.count } + workers.values.count { $0.asked != nil }
    }
    package var runningCount: Int { jobs.count - waitingCount }
}
