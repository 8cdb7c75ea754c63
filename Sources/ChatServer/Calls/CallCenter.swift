internal import ChatCore
internal import ChatModel
internal import LiveKitProtocol
internal import Logging

/// Does what calls need outside the database: ends rooms, rings devices, and looks at calls again when a time is up.
///
/// With several servers that are one each keeps the time, and whoever is first writes. Devices are told by whoever has
/// made a change, and rooms by whoever carries them.
actor CallCenter {
    let service: ChatService
    let rooms: (any CallRooms)?
    /// Nil where nothing is pushed.
    private let push: PushCenter?
    /// Whether others carry calls as well, who say that they are there.
    private let isOneOfSeveral: Bool
    let logger: Logger
    /// Who was in rooms at the last look, and not in their calls.
    var strangers: Set<CallEffects.Departure> = []
    /// When calls are looked at again.
    private var due: Timestamp?
    private var timer: Task<Void, Never>?
    private var ringing: Task<Void, Never>?
    private var isStopped = false
    private var isGoingDown = false
    /// That went on when this process began, and that it has not carried.
    private var former: [CallID] = []

    /// After a fault of the database.
    private static let retryAfter = Duration.seconds(5)
    /// In rooms: a cluster may be slow with one.
    private static let changesAtOnce = 16

    init(
        service: ChatService, rooms: (any CallRooms)?, push: PushCenter?, isOneOfSeveral: Bool = false, logger: Logger
    ) {
        self.service = service
        self.rooms = rooms
        self.push = push
        self.isOneOfSeveral = isOneOfSeveral
        self.logger = logger
    }

    /// Before any request is answered: looks which calls there are, none of which is this process's.
    func open() async throws {
        // Those that name a server are looked at when it is known who is there.
        let condition = isOneOfSeveral ? "node_id IS NULL" : "1 = 1"
        former = try await service.read { [kinds = ownKinds] in try $0.runningCalls(kinds, where: condition) }
    }

    /// Goes on with the calls that there are; those whose rooms went with an earlier process are over.
    func start() async throws {
        let over = former
        former = []
        if !over.isEmpty { try await service.write { try $0.failCalls(over) } }
        await expire()
    }

    /// Calls whose media goes with the process that carries it: call rooms do, too. A server of several that has no
    /// rooms may stand beside others that have a cluster's.
    private var ownKinds: [CallKind] {
        let isOwn = rooms?.isOwn ?? !isOneOfSeveral
        return isOwn ? CallKind.allCases : [.peer]
    }

    /// Those of servers that are no more are over.
    ///
    /// - Parameter nodes: who is there.
    func failCalls(but nodes: Set<NodeID>) async {
        guard !isStopped else { return }
        do {
            try await service.write { [kinds = ownKinds] in try $0.failCalls(but: nodes, kinds) }
        } catch {
            logger.error("calls of lost servers could not be ended", metadata: ["error": "\(error)"])
        }
    }

    /// No call ends by itself any more. Returns when none is about to.
    func stop() async {
        isStopped = true
        timer?.cancel()
        await timer?.value
    }

    /// After the last `changed`: returns when what has changed has been handed on to be pushed.
    func finish() async { await ringing?.value }

    // MARK: What has changed

    /// Does not wait for what comes of it.
    func changed(_ effects: CallEffects) {
        if let deadline = effects.deadline { wait(until: deadline) }
        changeRooms(effects)
        guard let push, !effects.rings.isEmpty || !effects.silenced.isEmpty else { return }
        // One after the other: what has stopped to ring is not to begin behind that.
        ringing = Task { [ringing] in
            await ringing?.value
            await ring(effects, push)
        }
    }

    /// Another server has changed something. Does not wait for what comes of it.
    func heard(_ effects: CallEffects) {
        if let deadline = effects.deadline { wait(until: deadline) }
        // A cluster was told by the other one.
        if rooms?.isOwn == true { changeRooms(effects) }
        guard let push, !effects.silenced.isEmpty else { return }
        ringing = Task { [ringing] in
            await ringing?.value
            // Here are the alerts that this server has sent; of calls that were missed the other one tells.
            await silence(effects, push, tellsOfMissed: false)
        }
    }

    private func changeRooms(_ effects: CallEffects) {
        guard let rooms, !effects.endedRooms.isEmpty || !effects.departures.isEmpty else { return }
        var changes: [@Sendable () async -> Void] = []
        for room in effects.endedRooms { changes.append { await rooms.end(room) } }
        for departure in effects.departures where !effects.endedRooms.contains(departure.room) {
            changes.append { await rooms.remove(departure.user, from: departure.room) }
        }
        // Not waited for: a cluster may be slow, and each request ends by itself. A request that is lost with a server
        // that ends does no harm: clients hear by their sockets that the call is over for them, and leave the room
        // themselves.
        Task { [changes] in
            await withTaskGroup(of: Void.self) { group in
                for (number, change) in changes.enumerated() {
                    if number >= Self.changesAtOnce { _ = await group.next() }
                    group.addTask { await change() }
                }
            }
        }
    }

    private func silence(_ effects: CallEffects, _ push: PushCenter, tellsOfMissed: Bool = true) async {
        for (id, users) in effects.silenced {
            guard let call = try? await service.read({ try $0.callToRing(id).call }) else { continue }
            for missed in [false, true] {
                let people = users.filter { $0.value == missed }.keys.sorted()
                guard !people.isEmpty else { continue }
                guard !missed || tellsOfMissed else {
                    await push.wasMissed(callID: id.description, users: people)
                    continue
                }
                await push.stopRinging(
                    callID: id.description, users: people, missed: missed, callerName: call.startedBy.displayName,
                    states: Dictionary(uniqueKeysWithValues: call.participants.map { ($0.user.id, $0.state) }))
            }
        }
    }

    private func ring(_ effects: CallEffects, _ push: PushCenter) async {
        await silence(effects, push)
        for (id, users) in effects.rings {
            guard let (call, channel) = try? await service.read({ try $0.callToRing(id) }), call.endedAt == nil else {
                continue
            }
            await push.ring(
                CallRing(
                    callID: id.description, room: call.room, hasVideo: call.media == .video,
                    caller: call.startedBy.id, callerName: call.startedBy.displayName, workspaceID: call.workspaceID,
                    channelID: call.channelID, channelName: channel.name, users: users.sorted(),
                    expiresAt: service.now().advanced(by: service.lifetimes.ringing)))
        }
    }

    /// What the server of the rooms tells, in its order.
    func take(_ event: LiveKitWebhookEvent) async {
        guard CallRoomName.isOne(event.room.name), let told = CallRoomEvent(event) else { return }
        let room = event.room.name
        var (faults, wasAway) = (0, false)
        while true {
            do {
                return try await service.write { try $0.take(told, of: room) }
            } catch {
                // Nobody tells it again: a database that is away is waited for, but not by a server that goes down.
                let isAway = error is DatabaseAway && !isGoingDown
                if !isAway { faults += 1 }
                if !isAway || !wasAway {
                    logger.error("a call's change could not be written", metadata: ["error": "\(error)"])
                }
                wasAway = isAway
                guard faults < 3, (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            }
        }
    }

    /// From now on nothing is waited for.
    func goDown() { isGoingDown = true }

    /// Somebody has gone from all their devices.
    func gone(_ user: UserID) async {
        do {
            try await service.write { try $0.leavePeerCalls(of: user) }
        } catch {
            logger.error("a call's change could not be written", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Time

    private func wait(until time: Timestamp) {
        guard !isStopped, due.map({ time < $0 }) ?? true else { return }
        due = time
        timer?.cancel()
        let wait = max(time - service.now(), .zero)
        timer = Task { [weak self, former = timer] in
            // It is over, or in the midst of what was due: `stop` waits for both.
            await former?.value
            guard (try? await Task.sleep(for: wait)) != nil else { return }
            await self?.expire()
        }
    }

    func expire() async {
        due = nil
        do {
            // Mostly there is nothing, and to look changes nothing.
            if let next = try await service.write({ try $0.expireCalls() }) { wait(until: next) }
        } catch {
            logger.error("calls could not be looked at", metadata: ["error": "\(error)"])
            wait(until: service.now().advanced(by: Self.retryAfter))
        }
    }
}

/// How the rooms of calls are called.
enum CallRoomName {
    private static let prefix = "call-"

    /// One that nobody can guess.
    static func random() -> String { prefix + Secret.random().text }

    /// A room of the page may be called `call-me` all the same.
    static func isOne(_ name: String) -> Bool { name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + 43 }
}

extension CallRoomEvent {
    /// Nil for what is nothing to a call: tracks, recorders, whoever is not of the chat.
    init?(_ event: LiveKitWebhookEvent) {
        switch event.event {
        case "participant_joined":
            guard let user = UserID(event.participant.identity) else { return nil }
            self = .joined(user, sid: event.participant.sid)
        case "participant_left", "participant_connection_aborted":
            guard let user = UserID(event.participant.identity) else { return nil }
            // Who is cut off comes back, mostly, and often as a new connection.
            let isFinal =
                switch event.participant.disconnectReason {
                case .clientInitiated, .participantRemoved, .roomDeleted, .roomClosed, .userRejected: true
                default: false
                }
            self = .left(user, sid: event.participant.sid, isFinal: isFinal)
        case "room_finished": self = .finished
        default: return nil
        }
    }
}
