internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import Logging
internal import RTCEngine
internal import RTCNetwork
internal import SwiftProtobuf
internal import Synchronization

/// The agents of a server: its workers' connections, an `AgentPool` that gives them the jobs that rooms order, and what
/// rooms are told of them. All of it comes through one inbox, in its order.
actor Agents {
    /// What has happened, oldest first.
    enum News: Sendable {
        case opened(AgentConnection)
        case said(AgentConnection, LiveKitWorkerMessage)
        case closed(AgentConnection)
        case ordered(AgentOrder)
        /// Something in the pool may have fallen due.
        case due
    }

    /// Whom it asks and tells.
    struct Surroundings: Sendable {
        /// Signs an agent's token with the key of that name.
        var sign: @Sendable (TokenSubject, _ key: String) -> String?
        /// A room is told of one of its jobs.
        var tell: @Sendable (_ room: String, _ job: String, AgentJobChange) async -> Void
        /// All rooms are told that there are workers of this kind.
        var came: @Sendable (AgentKind) async -> Void
    }

    private let surroundings: Surroundings
    private let logger: Logger
    private var pool: AgentPool
    private var ids: [ObjectIdentifier: AgentWorkerID] = [:]
    private var connections: [AgentWorkerID: AgentConnection] = [:]
    private var alarm: (due: Instant, task: Task<Void, Never>)?
    private let news: AsyncStream<News>
    nonisolated let inbox: AsyncStream<News>.Continuation
    nonisolated private let offered = Mutex<Set<AgentKind>>([])
    nonisolated private let counters = Mutex(AgentStatistics())
    nonisolated private let places = AgentPlaces(limit: AgentPool.workerLimit)
    private var reading: Task<Void, Never>?

    init(_ configuration: RoomConfiguration, _ surroundings: Surroundings, logger: Logger) {
        self.surroundings = surroundings
        self.logger = logger
        pool = AgentPool(
            server: configuration.server.info, limits: configuration.limits, random: .system,
            wallClockOffset: NetworkLoop.wallClockOffset)
        (news, inbox) = AsyncStream.makeStream(of: News.self)
    }

    /// Whether there is a worker for that; from any thread, at any time. What nobody is there for need not be ordered.
    nonisolated func offers(_ kind: AgentKind) -> Bool { offered.withLock { $0.contains(kind) } }

    nonisolated var statistics: AgentStatistics { counters.withLock { $0 } }

    /// A connection for one more worker, with a token of that key.
    nonisolated func connection(key: String) throws(HTTPRefusal) -> AgentConnection {
        guard let place = places.take() else {
            throw HTTPRefusal(503, "The server is full, or is going down: no more workers of agents are taken.")
        }
        return AgentConnection(key: key, place: place, inbox: inbox)
    }

    deinit { inbox.finish() }

    func start() {
        guard reading == nil else { return }
        reading = Task { [weak self, news] in for await event in news { await self?.take(event) } }
    }

    /// After the rooms have ended: workers are told of that, and that the server goes down.
    func stop() async {
        places.close()
        inbox.finish()
        await reading?.value
        alarm?.task.cancel()
        for connection in connections.values { connection.close(code: 1001, reason: "The server goes down.") }
        connections = [:]
        ids = [:]
    }

    private func take(_ event: News) async {
        let now = NetworkLoop.now
        pool.follow(wallClockOffset: NetworkLoop.wallClockOffset)
        switch event {
        case .opened(let connection):
            let id = pool.connect(key: connection.key, at: now)
            ids[ObjectIdentifier(connection)] = id
            connections[id] = connection
        case .said(let connection, let message):
            guard let id = ids[ObjectIdentifier(connection)] else { break }
            pool.receive(message, from: id, at: now)
        case .closed(let connection):
            guard let id = ids.removeValue(forKey: ObjectIdentifier(connection)) else { break }
            connections[id] = nil
            pool.disconnect(id, at: now)
        case .ordered(let order): pool.take(order, at: now)
        case .due:
            alarm = nil
            pool.tick(at: now)
        }
        await settle()
    }

    private func settle() async {
        let kinds = pool.kinds
        offered.withLock { $0 = kinds }
        while let output = pool.pollOutput() { await handle(output) }
        let statistics = AgentStatistics(pool)
        counters.withLock { $0 = statistics }
        setAlarm()
    }

    private func handle(_ output: AgentPoolOutput) async {
        switch output {
        case .send(let id, let message): connections[id]?.send(message)
        case .assign(let id, let job, let subject, let key):
            guard let connection = connections[id] else { return }
            guard let token = surroundings.sign(subject, key) else {
                return pool.assignmentFailed(job.id, at: NetworkLoop.now)
            }
            connection.send(
                .with {
                    $0.assignment = .with {
                        $0.job = job
                        $0.token = token
                    }
                })
            logger.info("an agent comes", metadata: ["job": "\(job.id)"])
        case .close(let id, let reason):
            guard let connection = connections.removeValue(forKey: id) else { return }
            ids[ObjectIdentifier(connection)] = nil
            connection.close(code: 1008, reason: reason)
        case .told(let room, let job, let change):
            if case .state(let state) = change, state.status == .jsFailed {
                // Why is in `ListDispatch`: a worker may say anything there, and what people say is not for logs.
                logger.warning("an agent's job has failed", metadata: ["job": "\(job)"])
            }
            await surroundings.tell(room, job, change)
        case .came(let kind):
            await surroundings.came(kind)
        }
    }

    private func setAlarm() {
        guard let wake = pool.nextWake else { return }
        if let alarm, alarm.due <= wake, alarm.due > NetworkLoop.now { return }
        alarm?.task.cancel()
        let task = Task { [inbox] in
            let wait = max((wake - NetworkLoop.now).nanoseconds, 0)
            guard (try? await Task.sleep(for: .nanoseconds(wait))) != nil else { return }
            inbox.yield(.due)
        }
        alarm = (wake, task)
    }
}
