import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

/// A program that waits for jobs, as the pool sees it: one connection.
struct AgentWorker {
    /// `AW_…`: as it is told.
    let sid: String
    /// The API key that its token was signed with, which signs its agents' tokens.
    let key: String
    let connectedAt: Instant
    /// Nil until it has registered.
    var kind: AgentKind?
    /// What its agents may do.
    var permission = LiveKitParticipantPermission.with {
        $0.canSubscribe = true
        $0.canPublish = true
        $0.canPublishData = true
        $0.canUpdateMetadata = true
    }
    var isFull = false
    var isDraining = false
    /// From 0 to 1.
    var load: Float = 0

    /// How much more it can do, from 0 to 1.
    var room: Float { max(0, 1 - load) }
    var hasRoom: Bool { !isFull && !isDraining && room > 0 }

    /// As LiveKit's SDKs look for it.
    static let nameAttribute = "lk.agent_name"

    /// Whom the token of its agent is for.
    func subject(_ identity: String, _ answer: LiveKitAvailabilityResponse, inRoom room: String) -> TokenSubject {
        var grants = VideoGrants()
        grants.apply(permission)
        grants.recorder = false
        grants.agent = true
        grants.roomJoin = true
        grants.room = room
        var claims = AccessToken.Claims()
        claims.name = answer.participantName
        claims.kind = "agent"
        claims.metadata = answer.participantMetadata
        claims.attributes = answer.participantAttributes
        claims.attributes[Self.nameAttribute] = kind?.name ?? ""
        claims.video = grants
        return TokenSubject(identity: identity, claims: claims)
    }
}

/// A worker does not take a job.
struct Refusal: Equatable {
    let worker: AgentWorkerID
    let at: Instant
    /// It was not for want of room.
    var isFinal = false
}

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
        /// The agent has left its room, and its worker is to say why.
        case leaving(AgentWorkerID)
    }

    var job: LiveKitJob
    /// They are served in the order in which they were ordered.
    var number: UInt64 = 0
    var phase = Phase.waiting
    var refusals: [Refusal] = []
    /// Another worker had it before.
    let isResumed: Bool
    /// For whom alone it is, who asked for it; no room knows of it then.
    let only: AgentWorkerID?
    /// The room knows that it waits.
    var isSaidToWait = false

    var id: String { job.id }
    var kind: AgentKind { AgentKind(of: job) }
    var isSimulated: Bool { only != nil }

    var isUntaken: Bool {
        switch phase {
        case .waiting, .asked: true
        case .running, .lost, .missing, .leaving: false
        }
    }

    init(_ job: LiveKitJob, isResumed: Bool, only: AgentWorkerID? = nil) {
        self.job = job
        self.isResumed = isResumed
        self.only = only
    }
}
