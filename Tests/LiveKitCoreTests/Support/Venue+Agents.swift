import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

@testable import LiveKitCore

/// What a room and its pool of agents say to each other.
extension Venue {
    /// An agent's own session, as its token has it.
    ///
    /// - Parameter job: what its token is for; nil for one that no pool has made.
    func joinAgent(_ name: String = "tin man", for job: LiveKitJob? = nil) throws -> TestClient {
        try join(
            name,
            grants: { $0.agent = true },
            claims: {
                $0.kind = "agent"
                $0.agentJob = job?.id ?? ""
            })
    }

    /// Somebody has been gone for so long that they are not about to come back.
    func passAbsence() { run(for: .seconds(Int64(11))) }

    var launched: [LiveKitJob] {
        agentOrders.compactMap { if case .launch(let job, _) = $0 { job } else { nil } }
    }

    var ended: [String] {
        agentOrders.compactMap {
            if case .terminate(let job, let reason) = $0 { "\(job) \("\(reason)".prefix { $0 != "(" })" } else { nil }
        }
    }

    /// A worker has taken it.
    func run(_ job: LiveKitJob, as identity: String = "tin man") { tell(job, .jsRunning, as: identity) }

    func tell(
        _ job: LiveKitJob, _ status: LiveKitJobStatus, as identity: String = "tin man", after seconds: Int64 = 0
    ) {
        let state = LiveKitJobState.with {
            $0.status = status
            $0.participantIdentity = identity
            $0.startedAt = 1_000_000_000
            $0.endedAt = status.isEnded ? (1 + seconds) * 1_000_000_000 : 0
        }
        room.agentJobChanged(job.id, .state(state), at: now)
        drain()
    }

    func jobs() -> [LiveKitJob] { room.dispatches(id: "").flatMap(\.state.jobs) }
}
