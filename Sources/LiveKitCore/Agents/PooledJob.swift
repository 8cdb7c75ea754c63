import LiveKitProtocol
import RTCEngine

/// A job on its way.
struct PooledJob {
    enum Phase: Equatable {
        /// For a worker that has room.
        case waiting
        case asked(AgentWorkerID, until: Instant)
        case running(AgentWorkerID)
        /// Its worker's connection is gone.
        case lost(until: Instant)
        /// The worker has not come back. The agent is in its room, or the room says that it is not.
        case missing
        /// The agent has left its room, and its worker may say how the job came out.
        case leaving(AgentWorkerID, until: Instant, wasCutOff: Bool)
    }

    /// A worker does not take it.
    struct Refusal: Equatable {
        let count: Int
        let at: Instant
        /// It has said since that it has room.
        var isForgiven = false
        /// It was not for want of room.
        var isFinal = false
        /// Whether it was shows.
        var isOpen: Bool { !isForgiven && !isFinal }
    }

    var job: LiveKitJob
    var phase = Phase.waiting
    var refusals: [AgentWorkerID: Refusal] = [:]
    /// Another worker had it before.
    let isResumed: Bool
    /// For whom alone it is, who asked for it; no room knows of it then.
    let only: AgentWorkerID?
    /// The room knows that it waits.
    var isSaidToWait = false
    /// When its worker's connection went last.
    var lostAt: Instant?
    /// How its agent has left while its worker's connection was gone.
    var left: AgentJobEnd?

    var id: String { job.id }
    var kind: AgentKind { AgentKind(of: job) }

    init(_ job: LiveKitJob, isResumed: Bool, only: AgentWorkerID? = nil) {
        self.job = job
        self.isResumed = isResumed
        self.only = only
    }

    var isLost: Bool {
        switch phase {
        case .lost, .missing: true
        case .waiting, .asked, .running, .leaving: false
        }
    }

    var isAsked: Bool {
        switch phase {
        case .asked: true
        case .waiting, .running, .lost, .missing, .leaving: false
        }
    }

    /// When something of it falls due; nil for never.
    var due: Instant? {
        switch phase {
        case .asked(_, let end), .lost(let end), .leaving(_, let end, _): end
        case .waiting: refusals.values.filter(\.isOpen).map { $0.at + AgentPool.judgementTime }.min()
        case .running, .missing: nil
        }
    }

    /// Whose it is to speak of.
    var holder: AgentWorkerID? {
        switch phase {
        case .asked(let worker, _), .running(let worker), .leaving(let worker, _, _): worker
        case .waiting: only
        case .lost, .missing: nil
        }
    }

    func isOf(_ worker: AgentWorkerID) -> Bool { holder == worker }

    /// It waits, and somebody has refused it for good: when others go it may be that everybody has.
    var isRefusedForGood: Bool {
        switch phase {
        case .waiting: refusals.values.contains(where: \.isFinal)
        case .asked, .running, .lost, .missing, .leaving: false
        }
    }

    // MARK: Refusals

    func mayAsk(_ worker: AgentWorkerID) -> Bool {
        guard only == nil || only == worker else { return false }
        return refusals[worker].map { $0.isForgiven && !$0.isFinal } ?? true
    }

    func hasFinallyRefused(_ worker: AgentWorkerID) -> Bool { refusals[worker]?.isFinal == true }

    mutating func refuse(_ worker: AgentWorkerID, isFinal: Bool = false, at now: Instant) {
        let count = (refusals[worker]?.count ?? 0) + 1
        refusals[worker] = Refusal(count: count, at: now, isFinal: isFinal || count >= AgentPool.refusalLimit)
    }

    /// A worker says how it fares: one that is full has not refused the job as such, and one that is not may be asked
    /// once more, when others have left it.
    mutating func hear(of worker: AgentWorkerID, isFull: Bool) {
        guard refusals[worker]?.isFinal == false else { return }
        if isFull { refusals[worker] = nil } else { refusals[worker]?.isForgiven = true }
    }

    /// Who has not said that it was for want of room has meant the job.
    mutating func judge(at now: Instant) {
        for (worker, refusal) in refusals where refusal.isOpen && now >= refusal.at + AgentPool.judgementTime {
            refusals[worker]?.isFinal = true
        }
    }
}
