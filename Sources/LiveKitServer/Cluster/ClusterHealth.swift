internal import Logging
internal import Synchronization

/// Whether the cluster can be reached, as the last that was heard of it says. A change is logged, once. From any
/// thread.
final class ClusterHealth: Sendable {
    enum News: Equatable {
        case reachable
        /// A part of a sentence.
        case unreachable(String)
    }

    private let server: String
    private let logger: Logger
    /// Nil before anything was heard.
    private let state = Mutex<Bool?>(nil)

    init(server: String, logger: Logger) {
        self.server = server
        self.logger = logger
    }

    var isReachable: Bool { state.withLock { $0 ?? false } }

    func note(_ news: News) {
        let before = state.withLock { state in
            defer { state = news == .reachable }
            return state
        }
        switch news {
        case .reachable where before == false:
            logger.notice("the cluster can be reached again", metadata: ["server": "\(server)"])
        case .unreachable(let reason) where before != false:
            logger.warning(
                "the cluster cannot be reached", metadata: ["server": "\(server)", "reason": "\(reason)"])
        case .reachable, .unreachable: break
        }
    }
}
