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
        /// Whoever it was for has left: if they come back, that is another job.
        var isPast = false
        var isEnded: Bool { info.state.status.isEnded }
        /// No worker has taken it.
        var isWaiting: Bool { info.state.status == .jsPending }
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

    /// It has, or has had, a job for that.
    func has(_ target: Target) -> Bool {
        jobs.contains { $0.target == target && !$0.isPast } || restarts.contains { $0.target == target }
    }

    mutating func add(_ job: LiveKitJob, for target: Target) {
        jobs.append(Job(info: job, target: target))
        if jobs.count > Self.historyLimit, let old = jobs.firstIndex(where: \.isEnded) { jobs.remove(at: old) }
    }

    /// It was none.
    mutating func forget(job id: String) { jobs.removeAll { $0.info.id == id } }

    /// Something has become of a job.
    mutating func update(_ id: String, _ state: LiveKitJobState, at now: Instant) {
        guard let place = jobs.firstIndex(where: { $0.info.id == id && !$0.isEnded }) else { return }
        jobs[place].info.state = state
        let target = jobs[place].target
        guard state.status == .jsFailed, state.reason != .jsrNoCapacity, wish.restartPolicy == .jrpOnFailure,
            !jobs[place].isPast
        else { return }
        let ran = Interval(nanoseconds: state.endedAt - state.startedAt)
        let before = ran >= Self.steadyTime ? 0 : failures[target] ?? 0
        guard before < Self.restartLimit else { return }
        failures[target] = before + 1
        restarts.append(Restart(target: target, due: now + .seconds(Int64(1 << before))))
    }

    /// Those that are to be done once more now.
    mutating func takeRestarts(at now: Instant) -> [Target] {
        let due = restarts.filter { $0.due <= now }.map(\.target)
        restarts.removeAll { $0.due <= now }
        return due
    }

    /// Somebody has left.
    mutating func left(_ identity: String) {
        restarts.removeAll { $0.target.identity == identity }
        for place in jobs.indices where jobs[place].target.identity == identity { jobs[place].isPast = true }
        for target in [Target.participant(identity), .publisher(identity)] { failures[target] = nil }
    }
}
