internal import Logging
internal import NIOCore

/// One connection that is made anew whenever it ends, until it is closed.
///
/// Belongs to its loop.
final class RedisLink: @unchecked Sendable {
    private enum Phase {
        /// Nothing is wanted of it.
        case idle
        case connecting
        case open(RedisConnection, any Channel)
        case waiting(Scheduled<Void>)
        case closed
    }

    private static let firstWait = TimeAmount.milliseconds(50)
    private static let longestWait = TimeAmount.seconds(2)

    let loop: any EventLoop
    private let purpose: RedisConnection.Purpose
    private let endpoint: RedisEndpoint
    private let logger: Logger
    private var report: ((RedisConnection.Fact) -> Void)?
    private var phase = Phase.idle
    /// Attempts that failed since there was a connection.
    private var failures = 0
    private var hasBeenReady = false

    init(_ purpose: RedisConnection.Purpose, _ endpoint: RedisEndpoint, loop: any EventLoop, logger: Logger) {
        self.purpose = purpose
        self.endpoint = endpoint
        self.loop = loop
        self.logger = logger
    }

    /// - Parameter report: told on the loop of all that happens; a connection that could not be made has `ended`, too.
    func start(report: @escaping @Sendable (RedisConnection.Fact) -> Void) {
        loop.execute {
            self.report = report
            self.connect()
        }
    }

    /// The connection, while there is one.
    var connection: RedisConnection? {
        if case .open(let connection, _) = phase { connection } else { nil }
    }

    // MARK: Connecting

    /// Connects, if that is not under way. On the loop.
    func connect() {
        switch phase {
        case .connecting, .open, .closed: return
        case .idle, .waiting: phase = .connecting
        }
        let (purpose, endpoint) = (purpose, endpoint)
        endpoint.connect(on: loop) {
            RedisConnection(purpose, endpoint) { self.happened($0) }
        }.whenComplete { result in
            switch result {
            case .success(let channel): self.connected(channel)
            case .failure(let error): self.failed(RedisFault(error))
            }
        }
    }

    private func connected(_ channel: any Channel) {
        guard case .connecting = phase,
            let connection = try? channel.pipeline.syncOperations.handler(type: RedisConnection.self)
        else {
            channel.close(promise: nil)
            return failed(.notConnected("the server closed the connection"))
        }
        phase = .open(connection, channel)
        connection.begin()
    }

    private func happened(_ fact: RedisConnection.Fact) {
        guard case .open = phase else { return }
        switch fact {
        case .ready:
            logger.info("Redis is connected", metadata: ["for": "\(purpose.name)"])
            failures = 0
            hasBeenReady = true
            report?(fact)
        case .message: report?(fact)
        case .publishingRefused(let kind):
            logger.warning("Redis takes no messages", metadata: ["error": "\(kind)"])
        case .ended(let fault):
            phase = .connecting
            failed(fault)
        }
    }

    private func failed(_ fault: RedisFault) {
        guard case .connecting = phase else { return }
        let wait = Self.wait(after: failures)
        failures += 1
        // Of the first attempt whoever has asked for the client hears.
        logger.log(
            level: failures == 1 && hasBeenReady ? .warning : .debug, "Redis is not connected",
            metadata: ["for": "\(purpose.name)", "reason": "\(fault)"])
        phase = .waiting(loop.scheduleTask(in: wait) { self.connect() })
        report?(.ended(fault))
    }

    /// Doubles up to 2 s; a random half of it, so that many servers do not come back at once.
    static func wait(after failures: Int) -> TimeAmount {
        let whole = min(longestWait.nanoseconds, firstWait.nanoseconds << Int64(min(failures, 16)))
        return .nanoseconds(.random(in: whole / 2...whole))
    }

    // MARK: Ending

    /// Ends the connection and makes no other before `connect`. Tells nobody. On the loop.
    func pause() {
        guard let ended = leave(for: .idle) else { return }
        ended.0.end(.notConnected("it is not wanted"))
    }

    /// Ends the connection for good; who waits for a reply is told. From any thread.
    ///
    /// - Returns: when the connection is closed.
    @discardableResult
    func close() -> EventLoopFuture<Void> {
        loop.flatSubmit { [self] in
            report = nil
            guard let (connection, channel) = leave(for: .closed) else { return loop.makeSucceededVoidFuture() }
            connection.end(.notConnected("the client is closed"))
            return channel.closeFuture
        }
    }

    private func leave(for next: Phase) -> (RedisConnection, any Channel)? {
        defer { phase = next }
        switch phase {
        case .idle, .connecting, .closed: return nil
        case .waiting(let task):
            task.cancel()
            return nil
        case .open(let connection, let channel): return (connection, channel)
        }
    }
}

extension RedisConnection.Purpose {
    /// For logs; channels are not named there.
    fileprivate var name: String {
        switch self {
        case .commands: "commands"
        case .subscription: "a subscription"
        }
    }
}
