/// Why a worker of agents has given up. Each has a sentence that a person can read.
public enum AgentWorkerError: Error, Sendable, Hashable {
    /// The URL is not one of a server: `ws://host:port` or `wss://host`, perhaps with a path, and without a query.
    case invalidURL(String)
    /// An API key needs a name and a secret.
    case invalidKey
    /// The environment has no such variable, or an empty one.
    case missingVariable(String)
    /// The server does not take the key, or knows no agents: it answered with this HTTP status.
    case refused(status: Int)
    /// The server could not be reached in any of as many attempts; how the last one failed, a part of a sentence.
    case unreachable(String, attempts: Int)
    /// A worker runs once.
    case alreadyRun
}

extension AgentWorkerError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalidURL(let url): RoomError.invalidURL(url).description
        case .invalidKey: "An API key has a name and a secret, and neither is empty."
        case .missingVariable(let name): "\(name) is not set in the environment."
        case .refused(401), .refused(403): "The server does not know this API key, or its secret is another one."
        case .refused(404): "The server has no place for workers of agents, or does not speak LiveKit's protocol."
        case .refused(let status): "The server refused the worker (status \(status))."
        case .unreachable(let how, let attempts):
            "There is no connection to the server after \(attempts) attempts: \(how)."
        case .alreadyRun: "This worker has run already: make another one."
        }
    }
}

/// What happens to a worker, in order: for its log.
public enum AgentWorkerEvent: Sendable, Hashable {
    /// The server has taken it, and calls it so.
    case registered(workerID: String)
    /// There is no connection, for this reason, a part of a sentence; the next attempt is after so long. What its
    /// agents do goes on.
    case disconnected(String, retryAfter: Duration)
    /// The server has given the job to this worker, and its function begins.
    case jobStarted(AgentJob)
    /// The server wants an end of it: its room is left.
    case jobCalledOff(AgentJob)
    /// Its function has returned, or has thrown what is told here, which the server is told, too.
    case jobEnded(AgentJob, error: String?)
    /// It takes no more jobs, and ends when those that it has are done.
    case draining
}

extension AgentWorkerEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .registered(let id): "Registered as \(id)."
        case .disconnected(let reason, .zero): "There is no connection to the server: \(reason). Trying again."
        case .disconnected(let reason, let wait):
            "There is no connection to the server: \(reason). Trying again in \(wait.components.seconds) s."
        case .jobStarted(let job): "Job \(job.id) in room \(job.roomName) has begun."
        case .jobCalledOff(let job): "Job \(job.id) in room \(job.roomName) is called off."
        case .jobEnded(let job, nil): "Job \(job.id) in room \(job.roomName) is done."
        case .jobEnded(let job, let error?): "Job \(job.id) in room \(job.roomName) has failed: \(error)"
        case .draining: "No more jobs are taken."
        }
    }
}
