internal import ChatCore
internal import ChatModel
internal import LiveKitProtocol
internal import Logging

/// Does what calls need outside the database: ends rooms, rings devices, and looks at calls again when a time is up.
///
/// With several servers on one database each keeps the time, and whoever is first writes; what comes of a change is
/// done by whoever has made it.
actor CallCenter {
    private let service: ChatService
    private let rooms: (any CallRooms)?
    /// Nil where nothing is pushed.
    private let push: PushCenter?
    private let logger: Logger
    /// When calls are looked at again.
    private var due: Timestamp?
    private var timer: Task<Void, Never>?
    private var ringing: Task<Void, Never>?
    private var isStopped = false

    /// After a fault of the database.
    private static let retryAfter = Duration.seconds(5)

    init(service: ChatService, rooms: (any CallRooms)?, push: PushCenter?, logger: Logger) {
        self.service = service
        self.rooms = rooms
        self.push = push
        self.logger = logger
    }

    /// Goes on with the calls that there are; those whose rooms went with an earlier process are over.
    func start() async throws {
        // What call rooms there were went with the process as well.
        let isOwn = rooms?.isOwn != false
        try await service.write { try $0.failCalls(isOwn ? CallKind.allCases : [.peer]) }
        await expire()
    }

    func stop() {
        isStopped = true
        timer?.cancel()
    }

    // MARK: What has changed

    /// Does not wait for what comes of it.
    func changed(_ effects: CallEffects) {
        if let deadline = effects.deadline { wait(until: deadline) }
        if let rooms, !effects.endedRooms.isEmpty || !effects.departures.isEmpty {
            Task {
                for departure in effects.departures where !effects.endedRooms.contains(departure.room) {
                    await rooms.remove(departure.user, from: departure.room)
                }
                for room in effects.endedRooms { await rooms.end(room) }
            }
        }
        guard let push, !effects.rings.isEmpty || !effects.silenced.isEmpty else { return }
        // One after the other: what has stopped to ring is not to begin behind that.
        ringing = Task { [ringing] in
            await ringing?.value
            await ring(effects, push)
        }
    }

    private func ring(_ effects: CallEffects, _ push: PushCenter) async {
        for (id, users) in effects.silenced {
            guard let call = try? await service.read({ try $0.callToRing(id).call }) else { continue }
            for missed in [false, true] {
                let people = users.filter { $0.value == missed }.keys.sorted()
                guard !people.isEmpty else { continue }
                await push.stopRinging(
                    callID: id.description, users: people, missed: missed, callerName: call.startedBy.displayName,
                    states: Dictionary(uniqueKeysWithValues: call.participants.map { ($0.user.id, $0.state) }))
            }
        }
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
        for attempt in 1...3 {
            do {
                return try await service.write { try $0.take(told, of: room) }
            } catch {
                logger.error(
                    "a call's change could not be written",
                    metadata: ["error": "\(error)", "attempt": "\(attempt)"])
                guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            }
        }
    }

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
        timer = Task { [weak self] in
            guard (try? await Task.sleep(for: wait)) != nil else { return }
            await self?.expire()
        }
    }

    private func expire() async {
        (due, timer) = (nil, nil)
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
