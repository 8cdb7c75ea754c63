internal import LiveKitCore

/// Workers of agents, and their jobs.
package struct AgentStatistics: Sendable, Equatable {
    /// Of workers, registered or not.
    var connections = 0
    /// Registered.
    package var workers = 0
    /// Jobs that a worker has taken, and those that nobody has taken yet.
    package var running = 0
    package var waiting = 0
    /// Jobs that failed, and others that are over; since the server began.
    package var failed = 0
    package var ended = 0

    init() {}

    init(_ pool: AgentPool) {
        connections = pool.connectionCount
        workers = pool.workerCount
        running = pool.runningCount
        waiting = pool.waitingCount
        (failed, ended) = pool.ended
    }
}
