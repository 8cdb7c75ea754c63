internal import Logging
internal import NIOCore
internal import Synchronization

/// A command that waits for the connection's loop.
struct QueuedCommand: Sendable {
    let bytes: [UInt8]
    /// Who waits for the reply; nobody for one that publishes.
    let reply: Outcome<RedisValue>?
}

/// Commands on their way to the connection: in the order in which they came, from any thread; those that came together
/// are written together.
final class CommandQueue: Sendable {
    /// Bytes of messages that are to be published and that the system has not taken.
    static let publishingLimit = 16 << 20

    fileprivate enum Status {
        case up
        /// Why there is no connection; nil before the first attempt has come to its end.
        case down(RedisFault?)
    }

    fileprivate struct State {
        var status = Status.down(nil)
        var commands: [QueuedCommand] = []
        /// Whether the loop will come for them.
        var isScheduled = false
        var publishingBytes = 0
        /// Whether messages are dropped, which is told once.
        var isDropping = false
        var awaitingFirst: [Outcome<Void>] = []
    }

    private let state = Mutex(State())
    private let link: RedisLink
    private let logger: Logger

    init(_ endpoint: RedisEndpoint, loop: any EventLoop, logger: Logger) {
        link = RedisLink(.commands, endpoint, loop: loop, logger: logger)
        self.logger = logger
    }

    func start() {
        link.start { [weak self] fact in
            switch fact {
            case .ready: self?.move(to: .up)
            case .ended(let fault): self?.move(to: .down(fault))
            case .message, .publishingRefused: break
            }
        }
    }

    func waitUntilConnected() async throws(RedisFault) {
        let outcome = Outcome<Void>()
        let status = state.withLock { state in
            if case .down(nil) = state.status { state.awaitingFirst.append(outcome) }
            return state.status
        }
        switch status {
        case .up: return
        case .down(let fault?): throw fault
        case .down(nil): return try await outcome.value()
        }
    }

    // MARK: Sending

    func send(_ bytes: [UInt8]) async throws(RedisFault) -> RedisValue {
        let reply = Outcome<RedisValue>()
        try add(QueuedCommand(bytes: bytes, reply: reply))
        return try await reply.value()
    }

    private func add(_ command: QueuedCommand) throws(RedisFault) {
        let (status, isFirst) = state.withLock { state in
            guard case .up = state.status else { return (state.status, false) }
            return (state.status, state.append(command))
        }
        if case .down(let fault) = status { throw Self.notConnected(fault) }
        if isFirst { scheduleDrain() }
    }

    func publish(_ bytes: [UInt8]) {
        let (isFirst, hasBegunToDrop) = state.withLock { state in
            guard case .up = state.status else { return (false, false) }
            guard state.publishingBytes + bytes.count <= Self.publishingLimit else {
                defer { state.isDropping = true }
                return (false, !state.isDropping)
            }
            state.publishingBytes += bytes.count
            return (state.append(QueuedCommand(bytes: bytes, reply: nil)), false)
        }
        if isFirst { scheduleDrain() }
        if hasBegunToDrop { logger.warning("Messages for Redis are dropped: it takes them too slowly") }
    }

    private func scheduleDrain() {
        link.loop.execute { self.drain() }
    }

    /// On the loop.
    private func drain() {
        let commands = state.withLock { state in
            defer { state.commands = [] }
            state.isScheduled = false
            return state.commands
        }
        guard !commands.isEmpty else { return }
        let publishing = Self.publishingBytes(commands)
        guard let connection = link.connection else { return fail(commands, .notConnected("the connection has ended")) }
        connection.send(commands) { self.written(publishing) }
    }

    private func written(_ publishing: Int) {
        guard publishing > 0 else { return }
        state.withLock { state in
            state.publishingBytes -= publishing
            if state.publishingBytes == 0 { state.isDropping = false }
        }
    }

    // MARK: Comings and goings

    /// On the loop.
    private func move(to status: Status) {
        let (commands, waiting) = state.withLock { state in
            state.status = status
            defer { (state.commands, state.awaitingFirst) = ([], []) }
            return (state.commands, state.awaitingFirst)
        }
        switch status {
        case .up: for outcome in waiting { outcome.resolve(.success(())) }
        case .down(let fault):
            fail(commands, fault)
            for outcome in waiting { outcome.resolve(.failure(fault ?? Self.notConnected(nil))) }
        }
    }

    private func fail(_ commands: [QueuedCommand], _ fault: RedisFault?) {
        written(Self.publishingBytes(commands))
        for command in commands { command.reply?.resolve(.failure(Self.notConnected(fault))) }
    }

    private static func publishingBytes(_ commands: [QueuedCommand]) -> Int {
        commands.reduce(0) { $0 + ($1.reply == nil ? $1.bytes.count : 0) }
    }

    /// What a command fails of while there is no connection, whatever that is for.
    private static func notConnected(_ fault: RedisFault?) -> RedisFault {
        switch fault {
        case nil: .notConnected("it has not been reached yet")
        case .notConnected(let why): .notConnected(why)
        case .timedOut: .notConnected("it has not answered in time")
        case .refused(let text): .notConnected("it has refused: \(text)")
        case .badReply(let why), .badAddress(let why): .notConnected(why)
        }
    }

    @discardableResult
    func close() -> EventLoopFuture<Void> {
        link.close().map { self.move(to: .down(.notConnected("the client is closed"))) }
    }
}

extension CommandQueue.State {
    /// Whether the loop has to be told.
    fileprivate mutating func append(_ command: QueuedCommand) -> Bool {
        commands.append(command)
        defer { isScheduled = true }
        return !isScheduled
    }
}
