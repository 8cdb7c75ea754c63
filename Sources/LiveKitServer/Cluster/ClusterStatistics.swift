internal import Synchronization

/// What has gone through to a cluster, and come from it.
package struct ClusterStatistics: Sendable, Equatable {
    /// What is asked, for a service's eyes.
    package enum Kind: String, CaseIterable, Sendable {
        case signaling, validation, service, exchange
    }

    /// The cluster's webhooks.
    package struct Events: Sendable, Equatable {
        package var taken = 0
        /// Had come before.
        package var repeated = 0
        /// Not signed by one of our keys, or no events.
        package var refused = 0
    }

    package var isReachable = false
    /// WebSockets that are open.
    package var sessions = 0
    /// Requests that the cluster has answered, whatever it said; a WebSocket is one.
    package var answered: [Kind: Int] = [:]
    /// Requests that it has not.
    package var failed: [Kind: Int] = [:]
    /// Requests that it was not asked, for their tokens.
    package var refused: [Kind: Int] = [:]
    package var events = Events()
}

/// From any thread.
final class ClusterCounters: Sendable {
    private let state = Mutex(ClusterStatistics())

    var value: ClusterStatistics { state.withLock { $0 } }

    func answered(_ kind: ClusterStatistics.Kind) { state.withLock { $0.answered[kind, default: 0] += 1 } }
    func failed(_ kind: ClusterStatistics.Kind) { state.withLock { $0.failed[kind, default: 0] += 1 } }
    func refused(_ kind: ClusterStatistics.Kind) { state.withLock { $0.refused[kind, default: 0] += 1 } }
    func sessionOpened() { state.withLock { $0.sessions += 1 } }
    func sessionClosed() { state.withLock { $0.sessions -= 1 } }
}
