internal import LiveKitCore

/// Workers of agents, and their jobs.
package struct AgentStatistics: Sendable, Equatable {
    /// That have registered.
    package var workers = 0
    /// Jobs that a worker has taken, and those that nobody has taken yet.
    package var running = 0
    package var waiting = 0
    /// Jobs that failed, and others that are over; since the server began.
    package var failed = 0
    package var ended = 0

    init() {}

    init(_ pool: AgentPool) {
        workers = pool.workerCount
        running = pool.runningCount
        waiting = pool.waitingCount
        (failed, ended) = pool.ended
    }
}
