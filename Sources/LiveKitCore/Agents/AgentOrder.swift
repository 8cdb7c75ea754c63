package import LiveKitProtocol
package import RTCEngine

/// What decides whether a worker can have a job: under which name and for which kind of work it has registered.
package struct AgentKind: Sendable, Hashable {
    /// Empty for agents that come into every room by themselves.
    package var name: String
    package var type: LiveKitJobType
    /// Of several versions of an agent that run beside each other; empty for the usual one.
    package var deployment: String

    package init(name: String, type: LiveKitJobType, deployment: String = "") {
        self.name = name
        self.type = type
        self.deployment = deployment
    }

    package init(of job: LiveKitJob) {
        self.init(name: job.agentName, type: job.type, deployment: job.deployment)
    }

    /// Whether it comes into every room: LiveKit's automatic dispatch.
    var isAutomatic: Bool { name.isEmpty }
}

/// What a room asks of the server's agents.
package enum AgentOrder: Sendable, Equatable {
    /// An agent is to do this job, which has no state yet. `isResumed`: another one had it, and is lost.
    case launch(LiveKitJob, isResumed: Bool)
    case terminate(jobID: String, because: AgentJobEnd)
}

/// Why a room has no use for a job any more.
package enum AgentJobEnd: Sendable, Equatable {
    case dispatchDeleted
    /// The participant whom a job that nobody has taken yet was for.
    case targetLeft
    /// The agent itself, which said goodbye then.
    case agentLeft(at: Instant)
    /// It has gone without a word, and has not come back.
    case agentCutOff
    /// A service has taken it out.
    case agentRemoved
    /// The agent has never come, and its worker is lost.
    case agentMissing
    case roomEnded
}

/// What becomes of a job that a room has asked for.
package enum AgentJobChange: Sendable, Equatable {
    /// No worker of that kind is there any more: as if it had not been asked for.
    case noWorker(isResumed: Bool)
    case state(LiveKitJobState)
    /// The worker is gone. Its agent may still be there, for it has a process and a connection of its own.
    case workerLost
}

extension LiveKitJobStatus {
    /// Nothing more becomes of the job.
    package var isEnded: Bool {
        switch self {
        case .jsSuccess, .jsFailed, .jsCancelled: true
        case .jsPending, .jsRunning, .UNRECOGNIZED: false
        }
    }
}
