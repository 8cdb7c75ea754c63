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

    private(set) var workers: [AgentWorkerID: AgentWorker] = [:]
    /// Those that have registered, and those of them that are free (`AgentWorker.isFree`).
    private(set) var members: [AgentKind: Set<AgentWorkerID>] = [:]
    private(set) var free: [AgentKind: Set<AgentWorkerID>] = [:]
    var jobs: [String: PooledJob] = [:]
    /// Those that wait. None of them can go to a worker that has room: who gains room is asked for the oldest that can
    /// go there (`offer`), and when a job begins to wait, somebody who has room is (`seek`).
    var queues: [AgentKind: AgentQueue] = [:]
    /// Of those that wait, the ones that somebody has refused for good.
    var refusedForGood: [AgentKind: Set<String>] = [:]
    var lastTicket: UInt64 = 0
    var askedCount = 0
    /// Jobs that are over, with which their workers may go on for what their agents still have to write down, until
    /// they fall due.
    var released: Set<String> = []
    var schedule = AgentSchedule()
    /// At jobs, for what a worker says and when it goes: few, however many there are.
    var looks = 0
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
        let worker = AgentWorker(sid: random.sid("AW_"), key: key, connectedAt: now)
        workers[id] = worker
        schedule.set(.worker(id), to: worker.due)
        return id
    }

    /// Kinds of work that a worker is there for, whether it has room or not.
    package var kinds: Set<AgentKind> { Set(members.keys) }

    /// Every change to a worker that is there.
    mutating func change(_ id: AgentWorkerID, _ body: (inout AgentWorker) -> Void) {
        guard var worker = workers.removeValue(forKey: id) else { return }
        body(&worker)
        schedule.set(.worker(id), to: worker.due)
        if let kind = worker.kind {
            members[kind, default: []].insert(id)
            if worker.isFree { free[kind, default: []].insert(id) } else { free[kind]?.remove(id) }
        }
        workers[id] = worker
    }

    package mutating func receive(_ message: LiveKitWorkerMessage, from id: AgentWorkerID, at now: Instant) {
        // Not the worker: while somebody else has it, too, a change to what it has refused copies all of it.
        guard let (isSilent, kind) = workers[id].map({ ($0.isSilent, $0.kind) }), let said = message.message
        else { return }
        if isSilent { change(id) { $0.isSilent = false } }
        defer { if isSilent { offer(to: id, at: now) } }
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
        case .register(let request) where kind == nil: return register(id, request, at: now)
        case .register: return drop(id, "this worker has registered already", at: now)
        case .availability, .updateWorker, .updateJob, .simulateJob, .migrateJob: break
        }
        guard kind != nil else { return drop(id, "a worker registers first", at: now) }
        switch said {
        case .availability(let answer): take(answer, from: id, at: now)
        case .updateWorker(let update): take(update, from: id, at: now)
        case .updateJob(let update): take(update, from: id, at: now)
        case .simulateJob(let request): simulate(request, for: id, at: now)
        case .migrateJob(let request): claim(Set(request.jobIds + request.jobs.map(\.id)), by: id, at: now)
        case .ping, .register: break
        }
    }

    private mutating func register(_ id: AgentWorkerID, _ request: LiveKitRegisterWorkerRequest, at now: Instant) {
        guard LiveKitJobType.allCases.contains(request.type) else { return drop(id, "unknown job type", at: now) }
        guard request.deployment.isDeployment else { return drop(id, "\(RoomServiceError.badDeployment)", at: now) }
        guard request.agentName.utf8.count <= limits.nameBytes else {
            return drop(id, "\(RoomServiceError.nameTooLong(limit: limits.nameBytes))", at: now)
        }
        let kind = AgentKind(name: request.agentName, type: request.type, deployment: request.deployment)
        change(id) {
            $0.kind = kind
            if request.hasAllowedPermissions { $0.permission = request.allowedPermissions }
        }
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
        offer(to: id, at: now)
    }

    private mutating func drop(_ id: AgentWorkerID, _ reason: String, at now: Instant) {
        put(.close(id, reason))
        disconnect(id, at: now)
    }

    /// The connection is over.
    package mutating func disconnect(_ id: AgentWorkerID, at now: Instant) {
        guard let worker = workers.removeValue(forKey: id) else { return }
        schedule.set(.worker(id), to: nil)
        if let kind = worker.kind { leave(id, kind) }
        // In an order that does not depend on how they are kept.
        for job in worker.held.sorted().compactMap({ jobs[$0] }) {
            looks += 1
            // Nobody else is to do it.
            guard job.only == nil else {
                forget(job.id)
                release(job.id, until: now + Self.verdictTime)
                continue
            }
            switch job.phase {
            case .asked: wait(job.id, at: now)
            case .running:
                update(job.id) {
                    $0.phase = .lost(until: now + Self.returnTime)
                    $0.lostAt = now
                }
            case .leaving(_, let end, let wasCutOff):
                self.end(job.id, wasCutOff ? .jsFailed : .jsSuccess, wasCutOff ? Self.cutOff : "", at: now)
                if !wasCutOff { release(job.id, until: end) }
            case .waiting, .lost, .missing: break
            }
        }
        // Who is left may have refused some of them for good.
        for job in (worker.kind.flatMap { refusedForGood[$0] } ?? []).sorted() {
            looks += 1
            giveUp(job, at: now)
        }
    }

    private mutating func leave(_ id: AgentWorkerID, _ kind: AgentKind) {
        members[kind]?.remove(id)
        free[kind]?.remove(id)
        guard members[kind]?.isEmpty == true else { return }
        members[kind] = nil
        free[kind] = nil
    }

    /// How a worker fares.
    private mutating func take(_ update: LiveKitUpdateWorkerStatus, from id: AgentWorkerID, at now: Instant) {
        change(id) {
            if update.hasStatus { $0.isFull = update.status == .wsFull }
            $0.load = update.load.isFinite ? min(max(update.load, 0), 1) : 1
            $0.isDraining = update.draining
            $0.given = 0
        }
        hear(of: id)
        offer(to: id, at: now)
    }

    // MARK: Time

    /// When `tick` is next wanted; nil when nothing is pending.
    package var nextWake: Instant? { schedule.next }

    /// Does what has fallen due.
    package mutating func tick(at now: Instant) {
        let due = schedule.take(at: now)
        for id in due.workers {
            guard let worker = workers[id] else { continue }
            guard worker.kind != nil else {
                drop(id, "no worker has registered in time", at: now)
                continue
            }
            change(id) { $0.given = 0 }
        }
        for id in due.jobs {
            fallDue(id, at: now)
            if let job = jobs[id] { schedule.set(.job(id), to: job.due) }
        }
        for id in due.workers { offer(to: id, at: now) }
    }

    private mutating func fallDue(_ id: String, at now: Instant) {
        guard let job = jobs[id] else {
            released.remove(id)
            return
        }
        switch job.phase {
        case .asked(let worker, let end) where now >= end:
            // It may hang, or be gone without anybody knowing: nothing more is asked of it until it says something.
            change(worker) {
                $0.asked = nil
                $0.isSilent = true
            }
            wait(id, at: now)
        case .lost(let end) where now >= end:
            // Its agent has left while nobody could say how that came about.
            if let reason = job.left {
                settle(id, as: reason, at: now)
            } else {
                update(id) { $0.phase = .missing }
                put(.told(room: job.job.room.name, job: id, .workerLost))
            }
        case .leaving(_, let end, let wasCutOff) where now >= end:
            self.end(id, wasCutOff ? .jsFailed : .jsSuccess, wasCutOff ? Self.cutOff : "", at: now)
        case .waiting:
            update(id) { $0.judge(at: now) }
            giveUp(id, at: now)
        case .asked, .running, .lost, .missing, .leaving: break
        }
    }

    // MARK: What there is

    /// Those that have registered.
    package var workerCount: Int { members.values.reduce(0) { $0 + $1.count } }
    /// Jobs that nobody has taken yet, and those that somebody has.
    package var waitingCount: Int { queues.values.reduce(0) { $0 + $1.count } + askedCount }
    package var runningCount: Int { jobs.count - waitingCount }
}
