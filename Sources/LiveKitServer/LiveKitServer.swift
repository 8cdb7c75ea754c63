internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
package import Logging
internal import NIOPosix
internal import RTCNetwork
internal import Synchronization

/// A server of LiveKit's protocol: rooms on media workers, and what clients and services reach them by. It opens the
/// ports of media itself; HTTP and WebSockets come from a `SocketIOServer`, whose `fallback` and `webSockets` ask here.
///
/// `stop` tells those who are in its rooms, and gives the ports back. A server that is let go of without it gives them
/// back as well, and tells nobody. The threads of its workers stay in either case (`NetworkLoop`).
package final class LiveKitServer: Sendable {
    let configuration: LiveKitServerConfiguration
    let workers: [MediaWorker]
    private let directory: RoomDirectory
    /// Of WHIP and WHEP.
    let sessions: HTTPSessions
    /// Who may come now.
    let gate: JoinGate
    private let webhooks: WebhookSender
    /// Nil where nothing is recorded.
    let egresses: Egresses?
    let agents: Agents
    /// What those who record hear.
    private let events: AsyncStream<LiveKitWebhookEvent>.Continuation
    /// Where media come in, each time that the host's networks have changed. For one listener.
    package let mediaMoves: AsyncStream<[MediaWorkerConfiguration.Address]>
    private let moves: AsyncStream<[MediaWorkerConfiguration.Address]>.Continuation
    private let logger: Logger

    package init(_ configuration: LiveKitServerConfiguration, logger: Logger = Logger(label: "livekit")) {
        self.configuration = configuration
        self.logger = logger
        // What agents know of the workers, which know them.
        let (directory, place) = (RoomDirectory(), MediaWorkers())
        let webhooks = WebhookSender(urls: configuration.webhooks, key: configuration.signingKey, logger: logger)
        self.directory = directory
        gate = JoinGate(configuration.joinRates)
        sessions = HTTPSessions(limit: configuration.maximumHTTPSessions)
        self.webhooks = webhooks
        let key = configuration.signingKey
        let (stream, events) = AsyncStream.makeStream(of: LiveKitWebhookEvent.self)
        self.events = events
        let (mediaMoves, moves) = AsyncStream.makeStream(
            of: [MediaWorkerConfiguration.Address].self, bufferingPolicy: .bufferingNewest(1))
        self.mediaMoves = mediaMoves
        self.moves = moves
        let records = configuration.recordings != nil
        let heard = configuration.heard
        let agents = Agents(
            configuration.rooms,
            Agents.Surroundings(
                sign: { subject, id in
                    guard let key = configuration.keys[id] else { return nil }
                    return try? AccessToken(
                        identity: subject.identity, claims: subject.claims, at: Date(),
                        validFor: Self.agentTokenValidity
                    ).signed(with: key)
                },
                tell: { room, job, change in
                    guard let index = directory[room] else { return }
                    await place[index]?.agentJobChanged(job, change, inRoom: room)
                },
                came: { kind in
                    for worker in place.all { await worker.agentsCame(kind) }
                }), logger: logger)
        self.agents = agents
        let workers = (0..<max(configuration.workers, 1)).map { index in
            let surroundings = MediaWorker.Surroundings(
                webhook: { event in
                    webhooks.send(event)
                    heard?(event)
                    if records { events.yield(event) }
                },
                sign: { Self.sign($0, expires: $1, with: key) },
                claim: { directory.claim($0, for: index) },
                roomEnded: { directory.release($0, by: index) },
                offersAgents: { agents.offers($0) },
                order: { agents.inbox.yield(.ordered($0)) },
                overran: { count, buffer in
                    logger.warning(
                        "datagrams were lost because this server did not read them in time",
                        metadata: ["count": "\(count)", "worker": "\(index)", "receive_buffer": "\(buffer)"])
                },
                moved: { addresses in
                    let announced = addresses.map { "\($0.announced)" }.joined(separator: " ")
                    logger.notice(
                        "the host's networks have changed: media come in on other addresses",
                        metadata: ["addresses": "\(announced)", "worker": "\(index)"])
                    moves.yield(addresses)
                })
            return MediaWorker(
                configuration.media.worker(index), limit: configuration.maximumRooms, surroundings: surroundings,
                loop: NetworkLoop(name: "roost-media-\(index)"))
        }
        self.workers = workers
        place.set(workers)
        egresses = configuration.recordings.map { recordings in
            let worker: @Sendable (String) -> MediaWorker? = { name in directory[name].map { workers[$0] } }
            let egresses = Egresses(
                recordings,
                Egresses.Surroundings(
                    participants: EmbeddedParticipants(worker: worker),
                    look: { await worker($0)?.look(at: $0) }, webhook: { webhooks.send($0) }), logger: logger)
            // Ends with its stream, which `deinit` finishes.
            Task { [weak egresses] in for await event in stream { await egresses?.happened(event) } }
            return egresses
        }
    }

    deinit {
        events.finish()
        moves.finish()
    }

    /// Takes the ports of media.
    package func start() async throws -> [MediaWorker.Ports] {
        var ports: [MediaWorker.Ports] = []
        do {
            for worker in workers { ports.append(try await worker.start()) }
            await agents.start()
        } catch {
            await stop()
            throw error
        }
        return ports
    }

    /// Tells everybody that the server goes down, and gives the ports back.
    package func stop() async {
        // While their tracks are still there.
        await egresses?.stop()
        for worker in workers { await worker.stop() }
        await agents.stop()
    }

    /// Delivers the webhooks that wait, for some seconds at most. After `stop`.
    package func finish() async { await webhooks.finish() }

    /// What its workers have done, and what is on them; from any thread, at any time.
    package var statistics: MediaWorkerStatistics {
        workers.reduce(MediaWorkerStatistics()) { $0 + $1.load }
    }

    /// Sessions of WHIP and WHEP.
    package var httpSessionStatistics: HTTPSessionStatistics { sessions.statistics }

    /// The same of each worker.
    package var loads: [MediaWorkerStatistics] { workers.map(\.load) }

    /// Webhooks that were delivered, and that were given up.
    package var webhookStatistics: WebhookStatistics { webhooks.statistics }

    /// Recordings; nil where there are none.
    package var egressStatistics: EgressStatistics? { egresses?.statistics }

    /// Workers of agents, and their jobs.
    package var agentStatistics: AgentStatistics { agents.statistics }

    /// As LiveKit's server has it: an agent joins at once, and is given newer ones in its room.
    private static let agentTokenValidity: TimeInterval = 3_600

    /// A new token: LiveKit's own servers let it live as long as the one before, and ten minutes at least.
    private static func sign(_ subject: TokenSubject, expires: Date, with key: APIKey) -> String? {
        let now = Date()
        let validity = max(10 * 60, expires.timeIntervalSince(now))
        let token = AccessToken(identity: subject.identity, claims: subject.claims, at: now, validFor: validity)
        return try? token.signed(with: key)
    }

    // MARK: Rooms and workers

    /// Which worker a room is on, or is to be on: the one with the fewest peers, and of those with the fewest rooms, of
    /// the workers that take new ones.
    func worker(forRoom name: String) -> MediaWorker {
        let loads = loads.map { RoomDirectory.Load(peers: $0.peers, isDraining: $0.isDraining) }
        return workers[directory.place(name, loads: loads)]
    }

    /// The worker that a room is on; nil when there is no such room.
    func worker(ofRoom name: String) -> MediaWorker? { directory[name].map { workers[$0] } }

    /// Asks the room's worker, and the other one when the room has moved meanwhile.
    func atRoom<Value: Sendable>(
        _ name: String, _ body: (MediaWorker) async throws(WorkerRefusal) -> Value
    ) async throws(WorkerRefusal) -> Value {
        for _ in 0..<4 {
            do throws(WorkerRefusal) {
                return try await body(worker(forRoom: name))
            } catch {
                guard error == .elsewhere else { throw error }
            }
        }
        throw .elsewhere
    }
}

/// The workers of a server, for those who have to know them before they are made, and do not keep them. Set once,
/// before anything is asked.
private final class MediaWorkers: Sendable {
    private struct Place {
        weak var worker: MediaWorker?
    }

    private let places = Mutex<[Place]>([])

    var all: [MediaWorker] { places.withLock { $0.compactMap(\.worker) } }

    subscript(index: Int) -> MediaWorker? {
        places.withLock { $0.indices.contains(index) ? $0[index].worker : nil }
    }

    func set(_ workers: [MediaWorker]) { places.withLock { $0 = workers.map { Place(worker: $0) } } }
}

/// Which room is on which worker. From any thread; written when a room is first asked for, begins and ends.
final class RoomDirectory: Sendable {
    private struct State {
        var places: [String: Int] = [:]
        /// Rooms on each worker.
        var counts: [Int: Int] = [:]
    }

    private let state = Mutex(State())

    subscript(name: String) -> Int? { state.withLock { $0.places[name] } }

    /// What speaks against a worker, besides its rooms.
    struct Load {
        var peers: Int
        var isDraining = false
    }

    /// Where it is; otherwise the least loaded, where it is not before it begins there. One that is draining, which
    /// refuses it, only where all are. Of as many peers the fewest rooms: those that are made before people come would
    /// else all be in one place.
    func place(_ name: String, loads: [Load]) -> Int {
        state.withLock { state in
            if let place = state.places[name] { return place }
            let open = loads.indices.filter { !loads[$0].isDraining }
            return (open.isEmpty ? Array(loads.indices) : open).min { first, second in
                (loads[first].peers, state.counts[first, default: 0])
                    < (loads[second].peers, state.counts[second, default: 0])
            } ?? 0
        }
    }

    /// It begins there. False when it is on another one.
    func claim(_ name: String, for worker: Int) -> Bool {
        state.withLock { state in
            if let place = state.places[name] { return place == worker }
            state.places[name] = worker
            state.counts[worker, default: 0] += 1
            return true
        }
    }

    func release(_ name: String, by worker: Int) {
        state.withLock { state in
            guard state.places[name] == worker else { return }
            state.places[name] = nil
            state.counts[worker, default: 1] -= 1
        }
    }
}

extension MediaWorkerConfiguration {
    /// The ports of the worker with this index.
    func worker(_ index: Int) -> MediaWorkerConfiguration {
        var configuration = self
        if port > 0 { configuration.port = port + UInt16(index) }
        if let tcpPort, tcpPort > 0 { configuration.tcpPort = tcpPort + UInt16(index) }
        return configuration
    }
}
