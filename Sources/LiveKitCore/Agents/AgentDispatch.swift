import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

/// That agents of one name are to come into a room, and the jobs that have come of it. Every change to it is the
/// room's.
struct AgentDispatch {
    /// For whom an agent comes.
    enum Target: Hashable {
        case room
        /// Whoever comes in, by identity: somebody who makes the connection anew keeps the agent.
        case participant(String)
        /// Whoever publishes, likewise.
        case publisher(String)

        var type: LiveKitJobType {
            switch self {
            case .room: .jtRoom
            case .participant: .jtParticipant
            case .publisher: .jtPublisher
            }
        }

        var identity: String? {
            switch self {
            case .room: nil
            case .participant(let identity), .publisher(let identity): identity
            }
        }
    }

    struct Job {
        var info: LiveKitJob
        let target: Target
        /// Who was there when it was asked for.
        let earlierAgents: Set<ParticipantSID>
        /// Since when a worker has it of whose agent nothing has been seen.
        var awaitedSince: Instant?
        var isEnded: Bool { info.state.status.isEnded }
        /// No worker has taken it.
        var isWaiting: Bool { info.state.status == .jsPending }

        /// Whether somebody is its agent. The identity alone does not say so: a worker may give it to several.
        ///
        /// - Parameter agentJob: `Participant.agentJob`.
        func isDone(by identity: String, _ agentJob: String?) -> Bool {
            guard let agentJob, info.state.participantIdentity == identity else { return false }
            return agentJob.isEmpty || agentJob == info.id
        }

        func isDone(by participant: Participant) -> Bool { isDone(by: participant.identity, participant.agentJob) }
    }

    /// A job that has failed is done once more.
    struct Restart {
        let target: Target
        let due: Instant
    }

    let id: String
    let wish: LiveKitRoomAgentDispatch
    /// Nanoseconds since 1970.
    let createdAt: Int64
    private(set) var jobs: [Job] = []
    private(set) var restarts: [Restart] = []
    /// For whom somebody has come, or is about to.
    private var served: Set<Target> = []
    /// For whom somebody had come and no worker was there when it was to be done once more.
    private(set) var owed: Set<Target> = []
    /// How often in a row it has failed for each.
    private var failures: [Target: Int] = [:]

    /// So many jobs that are over are remembered.
    static let historyLimit = 50
    /// So often in a row a job is done once more, after pauses of one second, two, four…
    static let restartLimit = 5
    /// Whatever has gone on for so long begins to count anew.
    static let steadyTime = Interval.seconds(Int64(60))

    init(id: String, _ wish: LiveKitRoomAgentDispatch, createdAt: Int64) {
        self.id = id
        self.wish = wish
        self.createdAt = createdAt
    }

    func kind(of target: Target) -> AgentKind {
        AgentKind(name: wish.agentName, type: target.type, deployment: wish.deployment)
    }

    func info(room: String) -> LiveKitAgentDispatch {
        .with {
            $0.id = id
            $0.agentName = wish.agentName
            $0.room = room
            $0.metadata = wish.metadata
            $0.restartPolicy = wish.restartPolicy
            $0.deployment = wish.deployment
            $0.attributes = wish.attributes
            $0.state = .with {
                $0.createdAt = createdAt
                // What is asked for and not answered yet may be no job at all.
                $0.jobs = jobs.map(\.info).filter(\.hasState)
            }
        }
    }

    func serves(_ target: Target) -> Bool { served.contains(target) }

    /// Somebody's coming and going may matter to it: an agent of its own, or somebody for whom one came.
    func concerns(_ identity: String) -> Bool {
        [Target.participant(identity), .publisher(identity)].contains { served.contains($0) || owed.contains($0) }
            || jobs.contains { !$0.isEnded && $0.info.state.participantIdentity == identity }
    }

    /// - Parameter earlierAgents: who is there already.
    mutating func add(_ job: LiveKitJob, for target: Target, besides earlierAgents: Set<ParticipantSID>) {
        served.insert(target)
        owed.remove(target)
        jobs.append(Job(info: job, target: target, earlierAgents: earlierAgents))
    }

    /// No worker is there for that.
    ///
    /// - Parameter isOwed: somebody had come.
    mutating func noteNobody(for target: Target, isOwed: Bool) {
        served.remove(target)
        if isOwed { owed.insert(target) }
    }

    /// A job that was asked for was none.
    mutating func forget(job id: String, isOwed: Bool) {
        guard let place = jobs.firstIndex(where: { $0.info.id == id }) else { return }
        noteNobody(for: jobs.remove(at: place).target, isOwed: isOwed)
    }

    /// Something has become of a job.
    mutating func update(_ id: String, _ state: LiveKitJobState, at now: Instant) {
        guard let place = jobs.firstIndex(where: { $0.info.id == id && !$0.isEnded }) else { return }
        jobs[place].info.state = state
        jobs[place].awaitedSince = state.status == .jsRunning ? now : nil
        let target = jobs[place].target
        while jobs.count(where: \.isEnded) > Self.historyLimit, let old = jobs.firstIndex(where: \.isEnded) {
            jobs.remove(at: old)
        }
        // Whoever it was for has not left, nor come back and got another.
        guard state.status == .jsFailed, served.contains(target),
            !jobs.contains(where: { $0.target == target && !$0.isEnded })
        else { return }
        guard state.reason != .jsrNoCapacity else { return noteNobody(for: target, isOwed: true) }
        guard wish.restartPolicy == .jrpOnFailure else { return }
        let ran = Interval(nanoseconds: state.endedAt - state.startedAt)
        let before = ran >= Self.steadyTime ? 0 : failures[target] ?? 0
        guard before < Self.restartLimit else { return }
        failures[target] = before + 1
        restarts.append(Restart(target: target, due: now + .seconds(Int64(1 << before))))
    }

    /// This is the agent of a job of its own that is on its way.
    func awaits(_ agent: Participant) -> Bool {
        jobs.contains { $0.awaitedSince != nil && $0.isDone(by: agent) }
    }

    /// An agent is there.
    mutating func noteAgent(_ agent: Participant) {
        for place in jobs.indices where jobs[place].isDone(by: agent) {
            jobs[place].awaitedSince = nil
        }
    }

    /// Jobs that a worker has had for so long without an agent; they are waited for no more.
    mutating func takeMissing(at now: Instant, after time: Interval) -> [String] {
        let missing = jobs.indices.filter { place in jobs[place].awaitedSince.map { now >= $0 + time } ?? false }
        for place in missing { jobs[place].awaitedSince = nil }
        return missing.map { jobs[$0].info.id }
    }

    /// When something of it falls due.
    func nextDue(after time: Interval) -> Instant? {
        (restarts.map(\.due) + jobs.compactMap(\.awaitedSince).map { $0 + time }).min()
    }

    /// Those that are to be done once more now.
    mutating func takeRestarts(at now: Instant) -> [Target] {
        let due = restarts.filter { $0.due <= now }.map(\.target)
        restarts.removeAll { $0.due <= now }
        return due
    }

    /// Somebody has left: who comes back is somebody new.
    mutating func left(_ identity: String) {
        restarts.removeAll { $0.target.identity == identity }
        for target in [Target.participant(identity), .publisher(identity)] {
            served.remove(target)
            owed.remove(target)
            failures[target] = nil
        }
    }
}
