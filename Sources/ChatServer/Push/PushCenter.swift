package import ChatCore
package import ChatModel
internal import Foundation
package import Logging
internal import Synchronization

/// Pushes to devices what their owners are to hear of while no client of theirs is connected.
///
/// Messages come from the log of events, as `RealtimeHub`'s do: word that a workspace has changed makes it read on from
/// where it was, which is kept. Of several servers on one database the one with the lease reads. Calls come from
/// whoever makes them ring.
package actor PushCenter {
    let service: ChatService
    let transport: any PushTransport
    let topics: Set<String>
    let logger: Logger
    /// Who of these people has a client connected.
    let connected: @Sendable (Set<UserID>) async -> Set<UserID>

    var tokens: ProviderTokens
    var queue = PushQueue()
    var positions = PushPositions()
    var inFlight = 0
    /// Rings and missed calls whose pushes are not in the queue yet.
    var beingMade = 0
    /// Nothing is sent before: Apple has not let us in.
    var blockedUntil: Timestamp?
    /// Who has read on since their icons were looked at.
    var readers: Set<UserID> = []
    var isClearingIcons = false
    /// Pushes on their way that take a number away, and the devices that are taken for clear because of them.
    var clearing: [UUID: DeviceID] = [:]
    /// Devices that are taken for clear and are not.
    var notCleared: Set<DeviceID> = []
    /// At whom a call rings no more, and since when: what is under way for it leads to nothing else.
    var over: [Ringing: Timestamp] = [:]
    var alerts = CallAlerts()
    private var held = HeldMessages()

    private enum Phase {
        case working
        /// Reads no logs, and pushes calls.
        case goingDown
        case stopping
    }

    struct Ringing: Hashable {
        let call: String
        let user: UserID
    }

    private let holder = UUID()
    private var leaseEnds: Timestamp?
    private var leaseAskedAt: Timestamp?
    private var lookedAt: Timestamp?
    private var grown: Set<WorkspaceID> = []
    private var isReading = false
    private var phase = Phase.working
    private var loop: Task<Void, Never>?

    private let counters = Mutex(PushStatistics())

    static let leaseName = "push"
    static let lease = Duration.seconds(20)
    /// How often the lease is asked for, and what other servers have written is looked for.
    static let interval = Duration.seconds(5)
    static let mostInFlight = 64

    package init(
        _ configuration: APNsConfiguration, service: ChatService, logger: Logger,
        connected: @escaping @Sendable (Set<UserID>) async -> Set<UserID>
    ) throws {
        // A client has to be shut down once it is made: the key is read first.
        let tokens = try ProviderTokens(configuration)
        self.init(
            configuration, tokens, over: try APNsClient(configuration), service: service, logger: logger,
            connected: connected)
    }

    init(
        _ configuration: APNsConfiguration, _ tokens: ProviderTokens, over transport: any PushTransport,
        service: ChatService, logger: Logger, connected: @escaping @Sendable (Set<UserID>) async -> Set<UserID>
    ) {
        self.tokens = tokens
        self.transport = transport
        self.service = service
        self.logger = logger
        self.connected = connected
        topics = configuration.topics
    }

    package nonisolated var statistics: PushStatistics { counters.withLock { $0 } }

    func count(_ change: (inout PushStatistics) -> Void) {
        let (queued, inFlight) = (queue.count, inFlight)
        counters.withLock { statistics in
            change(&statistics)
            statistics.queued = queued
            statistics.inFlight = inFlight
        }
    }

    // MARK: From its beginning to its end

    package func start() {
        guard loop == nil, phase != .stopping else { return }
        loop = Task {
            while !Task.isCancelled {
                await tick()
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Something has changed. Does not wait for what comes of it.
    package func changed(_ changes: ChatChanges) {
        guard phase != .stopping else { return }
        readers.formUnion(changes.marks.keys)
        readers.formUnion(changes.relieved)
        // Neither task is kept: one at a time, and `stop` waits until nothing `isAtWork`.
        if !readers.isEmpty, !isClearingIcons { Task { await clearIcons() } }
        guard !changes.workspaces.isEmpty, readsOn else { return }
        grown.formUnion(changes.workspaces)
        if !isReading { Task { await read() } }
    }

    /// From now on nobody is connected any more, for all are sent away: whom a message is pushed to can no longer be
    /// told from who comes back at once. Whoever has the lease next reads on. Calls are pushed until `stop`.
    func goDown() { if phase == .working { phase = .goingDown } }

    /// Sends what is due, for some seconds at most, and leaves the rest to the next start.
    package func stop() async {
        guard phase != .stopping else { return }
        phase = .stopping
        loop?.cancel()
        for _ in 0..<50 where isAtWork { try? await Task.sleep(for: .milliseconds(100)) }
        await keepPositions()
        await giveUpClearing()
        let holder = holder
        if holdsLease { try? await service.write { try $0.giveUpLease(Self.leaseName, holder: holder) } }
        leaseEnds = nil
        await transport.stop()
    }

    private var isAtWork: Bool {
        beingMade > 0 || inFlight > 0 || isReading || isClearingIcons || !readers.isEmpty || !queue.isIdle && !isBlocked
    }

    var isBlocked: Bool { blockedUntil.map { service.now() < $0 } ?? false }

    private var readsOn: Bool { holdsLease && phase == .working }

    private var holdsLease: Bool { leaseEnds.map { service.now() < $0 } ?? false }

    /// What is done without being asked.
    func tick() async {
        guard phase != .stopping else { return }
        do {
            try await renewLease()
            if readsOn { try await lookAround() }
        } catch {
            logger.error("notifications could not be looked for", metadata: ["error": "\(error)"])
        }
        await keepPositions()
        forgetCallsThatAreOver()
        held.expire(at: service.now())
        await clearIcons()
        pump()
    }

    private func renewLease() async throws {
        let (now, holder) = (service.now(), holder)
        if let leaseAskedAt, leaseAskedAt <= now, now - leaseAskedAt < Self.interval { return }
        leaseAskedAt = now
        let lease = try await service.write {
            try $0.takeLease(Self.leaseName, holder: holder, for: Self.lease)
        }
        switch lease {
        case .kept: break
        case .taken, .refused:
            // Somebody else has read on or does so now, and sends what is owed.
            positions.forget()
            queue.removeOwed()
            held.forget()
            lookedAt = nil
        }
        leaseEnds = lease == .refused ? nil : now.advanced(by: Self.lease)
    }

    /// Workspaces that have grown without a word to us: at the beginning, and by other servers.
    private func lookAround() async throws {
        let now = service.now()
        if let lookedAt, lookedAt <= now, now - lookedAt < Self.interval { return }
        lookedAt = now
        let newest = try await service.read { try $0.newestEvents() }
        for (workspace, sequence) in newest where (positions.read(of: workspace) ?? -1) < sequence {
            grown.insert(workspace)
        }
        await read()
    }

    private func keepPositions() async {
        guard holdsLease else { return }
        let changed = positions.takeChanged()
        guard !changed.isEmpty else { return }
        do {
            try await service.write { chat in
                for (workspace, sequence) in changed { try chat.setPushPosition(sequence, of: workspace) }
            }
        } catch {
            logger.error("how far notifications have come could not be kept", metadata: ["error": "\(error)"])
        }
    }

    // MARK: The log

    /// Reads on in the logs that have grown, until there is nothing new. One at a time.
    private func read() async {
        guard !isReading else { return }
        isReading = true
        defer { isReading = false }
        while let workspace = grown.popFirst(), readsOn {
            do {
                try await read(workspace)
            } catch {
                // The next look around finds it behind.
                logger.error("messages could not be read for notifications", metadata: ["error": "\(error)"])
            }
        }
    }

    private func read(_ workspace: WorkspaceID) async throws {
        var isWhole = false
        while !isWhole, readsOn {
            // What does not fit in is still in the log: the next look around goes on there.
            guard queue.count < queue.limit / 2 else { return }
            if positions.read(of: workspace) == nil {
                let kept = try await service.read { try $0.pushPosition(of: workspace) }
                positions.begin(workspace, at: kept)
            }
            let after = positions.read(of: workspace) ?? 0
            let part = try await service.read { try PushReading(workspace, after: after, in: $0) }
            isWhole = part.isWhole
            guard try await push(part.told) else { return }
            positions.read(workspace, upTo: part.sequence)
            pump()
        }
    }

    /// Pushes messages to who is to have them.
    ///
    /// - Returns: false where that can no longer be told.
    private func push(_ told: [PushReading.Told]) async throws -> Bool {
        guard !told.isEmpty else { return true }
        let online = await connected(Set(told.flatMap { $0.candidates.map(\.user) }))
        guard phase == .working else { return false }
        var chosen: [(told: PushReading.Told, candidate: NotificationCandidate)] = []
        for one in told {
            for candidate in one.candidates {
                var facts = candidate.facts
                facts.isConnected = online.contains(candidate.user)
                switch NotificationRule.verdict(facts) {
                case .push: chosen.append((one, candidate))
                case .nothing(.active): held.hold(one.message.id, for: candidate.user, at: service.now())
                case .nothing: break
                }
            }
        }
        let (users, topics) = (Set(chosen.map(\.candidate.user)), topics)
        guard !users.isEmpty else { return true }
        let reach = try await service.read { try PushReach(of: users, topics: topics, in: $0) }
        try await iconsGetNumbers(reach)
        for (one, candidate) in chosen {
            guard let person = reach.people[candidate.user] else { continue }
            try push(one, showsPreview: candidate.showsPreview, to: person)
        }
        return true
    }

    /// Somebody is connected no more: perhaps they were not since before it was found out. What was held back because
    /// they were is pushed now, unless they have read it.
    func gone(_ user: UserID) async {
        guard readsOn else { return }
        let (ids, topics) = (held.take(of: user, at: service.now()), topics)
        guard !ids.isEmpty else { return }
        do {
            let reading = try await service.read { try HeldReading(ids, for: user, topics: topics, in: $0) }
            // Who is back has got it by the socket.
            guard let person = reading.reach.people[user], await connected([user]).isEmpty, readsOn else { return }
            try await iconsGetNumbers(reading.reach)
            for one in reading.told {
                // The log has been read beyond it: a start would push again what came after it.
                try push(one, showsPreview: person.settings.showPreview, to: person, isOwed: false)
            }
            pump()
        } catch {
            logger.error("messages could not be pushed to who has gone", metadata: ["error": "\(error)"])
        }
    }

    /// - Parameter isOwed: whether a server that starts reads on from there as long as it has not been sent.
    private func push(
        _ told: PushReading.Told, showsPreview: Bool, to person: PushReach.Person, isOwed: Bool = true
    ) throws {
        let message = told.message
        let origin = isOwed ? Push.Origin(workspace: message.workspaceID, sequence: message.sequence) : nil
        let payload = try PushPayload.message(
            message, channelName: told.channelName, showsPreview: showsPreview, badge: person.badge)
        let now = service.now()
        for address in person.addresses {
            guard let token = address.alertToken else { continue }
            if let origin { positions.begin(origin) }
            enqueue(
                Push(
                    kind: .alert, address: address, token: token, madeAt: now,
                    expiresAt: now.advanced(by: .seconds(86_400)), collapseID: message.id.description,
                    payload: payload, origin: origin, subject: .message(message.id)))
        }
    }
}
