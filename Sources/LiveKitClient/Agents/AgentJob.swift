internal import LiveKitProtocol
internal import RTCEngine

/// What an agent is sent for: one job in one room.
public struct AgentJob: Sendable, Hashable, Identifiable {
    /// What brings an agent, and how often (LiveKit's `JobType`).
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Once for the room.
        case room
        /// Once for everybody who publishes.
        case publisher
        /// Once for everybody who comes.
        case participant
    }

    /// What the server calls the job: `AJ_…`.
    public let id: String
    /// What has brought the agent.
    public let kind: Kind
    /// The name of the room, for which the agent's token is.
    public let roomName: String
    /// What the server calls the room: `RM_…`.
    public let roomSID: String
    /// The room's metadata, as the server sent it with the job; may be empty.
    public let roomMetadata: String
    /// Whom the job is about; nil for a room's.
    public let participant: RemoteParticipant?
    /// Of the dispatch: what the program that sent for the agent has to say to it; may be empty.
    public let metadata: String
    /// Of the dispatch, as `metadata`.
    public let attributes: [String: String]
    /// The name that was asked for; empty for agents that come by themselves.
    public let agentName: String
    /// Of the dispatch that the job comes of: `AD_…`.
    public let dispatchID: String
    /// What was asked for with the name (`AgentWorker.Options.deployment`).
    public let deployment: String
    /// Another agent, or this one before, was at it and was lost.
    public let isResumed: Bool
}

/// What a worker says to a job that it is offered.
public enum AgentJobAnswer: Sendable, Hashable {
    /// It is done here, by an agent who is called so.
    case accept(AgentIdentity = AgentIdentity())
    /// Not here: others are asked.
    case decline
    /// Nobody is to do it; it counts as done.
    case dismiss
}

/// How an agent appears in its room.
public struct AgentIdentity: Sendable, Hashable {
    /// Nobody else in the room may have it; nil for `agent-` and the job's id.
    public var identity: ParticipantIdentity?
    /// What people see; may be empty.
    public var name: String
    /// Of the agent as a participant; may be empty.
    public var metadata: String
    /// Of the agent as a participant; may be empty.
    public var attributes: [String: String]

    public init(
        identity: ParticipantIdentity? = nil, name: String = "", metadata: String = "",
        attributes: [String: String] = [:]
    ) {
        self.identity = identity
        self.name = name
        self.metadata = metadata
        self.attributes = attributes
    }
}

// MARK: From the server's messages

extension AgentJob {
    init(_ job: LiveKitJob, isResumed: Bool) {
        id = job.id
        kind = Kind(job.type)
        roomName = job.room.name
        roomSID = job.room.sid
        roomMetadata = job.room.metadata
        participant = job.hasParticipant ? RemoteParticipant(job.participant) : nil
        metadata = job.metadata
        attributes = job.attributes
        agentName = job.agentName
        dispatchID = job.dispatchID
        deployment = job.deployment
        self.isResumed = isResumed
    }
}

extension AgentJob.Kind {
    init(_ type: LiveKitJobType) {
        switch type {
        case .jtRoom, .UNRECOGNIZED: self = .room
        case .jtPublisher: self = .publisher
        case .jtParticipant: self = .participant
        }
    }

    var message: LiveKitJobType {
        switch self {
        case .room: .jtRoom
        case .publisher: .jtPublisher
        case .participant: .jtParticipant
        }
    }
}
