public import Logging
public import SocketIO
import Synchronization

/// The call rooms of the signaling protocol, on a `SocketIOServer`.
///
/// A client gives `roomId`, `username` and `isCaller` when it connects and is in that room until it leaves. The
/// others get `room_user_joined` and `room_user_left`; `offer`, `answer` and `candidate` go to the others of the room
/// byte for byte. Unlike the protocol's first server, a newcomer gets one `room_user_joined` for each person who is
/// there already, and then `room_users` with the whole list, empty or not.
public final class CallRoomServer: Sendable {
    /// The limits of the rooms. Rates and sizes of whole connections are the `SocketIOServer`'s.
    public struct Limits: Hashable, Sendable {
        /// How many may be in one room.
        public var membersPerRoom: Int
        /// The largest offer, answer or candidate, in bytes of JSON and attachments together.
        public var payload: Int

        public init(membersPerRoom: Int = 50, payload: Int = 256 * 1024) {
            self.membersPerRoom = membersPerRoom
            self.payload = payload
        }
    }

    private let namespace: SocketIONamespace
    private let limits: Limits
    private let logger: Logger
    /// Written when somebody joins or leaves.
    private let rooms = Mutex<[Int: CallRoom]>([:])

    /// Puts the rooms into a namespace of `server`. Call before the server listens.
    public init(
        server: SocketIOServer, namespace: String = "/", limits: Limits = Limits(),
        logger: Logger = Logger(label: "roost.rooms")
    ) {
        self.namespace = server.namespace(namespace)
        self.limits = limits
        self.logger = logger
        self.namespace.onConnect { [self] socket in connect(socket) }
        self.namespace.onDisconnect { [self] socket, reason in disconnected(socket, reason) }
        for name in CallRoomEventName.relayed {
            self.namespace.on(name) { [self] socket, event in relay(event, from: socket) }
        }
    }

    /// How many rooms there are and how many people are in them, the local ones among them.
    public var population: (rooms: Int, members: Int) {
        rooms.withLock { ($0.count, $0.values.reduce(0) { $0 + $1.members.count }) }
    }

    /// Who is in a room.
    public func users(in room: Int) -> [CallRoomUser] {
        rooms.withLock { $0[room]?.members.map(\.user) ?? [] }
    }

    /// Puts a participant of this process into a room, as if it had connected.
    public func joinLocal(room: Int, username: String, isCaller: Bool) throws(CallRoomRefusal) -> LocalParticipant {
        let user = CallRoomUser(username: username, roomId: room, isCaller: isCaller)
        let participant = LocalParticipant(user: user, server: self)
        let member = CallRoom.Member(user: user, connection: .local(participant))
        try enter(member)
        return participant
    }

    // MARK: Joining and leaving

    private func connect(_ socket: SocketIOSocket) -> SocketIOAdmission {
        do throws(CallRoomRefusal) {
            let parameters = try CallRoomParameters(socket.handshake)
            let user = CallRoomUser(
                username: parameters.username, roomId: parameters.roomId, isCaller: parameters.isCaller)
            let member = CallRoom.Member(user: user, connection: .socket(socket), client: parameters.client)
            socket.userData = member
            try enter(member)
            return .accept()
        } catch {
            logger.info("refused", metadata: ["code": "\(error.code)", "field": "\(error.field.rawValue)"])
            return .refuse(message: error.message, data: error.data)
        }
    }

    private func disconnected(_ socket: SocketIOSocket, _ reason: SocketIODisconnectReason) {
        guard let member = socket.userData as? CallRoom.Member else { return }
        switch reason {
        case .connectionEnded(.serverShutdown):
            // Nobody has left: a `room_user_left` that still gets through would end calls whose media flows.
            leave(member, tellingOthers: false)
        case .clientLeft, .serverLeft, .connectionEnded:
            leave(member)
        }
        logger.debug("left", metadata: ["room": "\(member.user.roomId)", "because": "\(reason.sentence)"])
    }

    /// What somebody's entering made of a room.
    private struct Entrance {
        /// Who was there before.
        var present: [CallRoom.Member]
        /// Who is there now, in the room's order.
        var now: [CallRoom.Member]
        /// The newcomer's own former connection.
        var lost: CallRoom.Member?

        func others(than member: CallRoom.Member) -> [CallRoomUser] {
            now.filter { $0 !== member }.map(\.user)
        }
    }

    private func enter(_ member: CallRoom.Member) throws(CallRoomRefusal) {
        let user = member.user
        let limit = limits.membersPerRoom
        let entered: Entrance? = rooms.withLock { rooms in
            var room = rooms[user.roomId] ?? CallRoom()
            let lost = room.members.firstIndex { $0.isLostConnection(of: member) }.map { room.members.remove(at: $0) }
            guard room.members.count < limit else { return nil }
            defer { rooms[user.roomId] = room }
            let present = room.members
            room.add(member)
            // Inside the lock, so that whoever is listed is also reached by what is relayed from now on.
            if case .socket(let socket) = member.connection { socket.join(Self.roomName(user.roomId)) }
            return Entrance(present: present, now: room.members, lost: lost)
        }
        guard let entered else { throw .roomFull(limit: limit) }
        let (present, lost) = (entered.present, entered.lost)
        for other in present { member.receive(.userJoined(other.user)) }
        if case .socket = member.connection {
            // Ours: says that these are all, so that a newcomer to an empty room knows that it is empty.
            member.receive(.users(present.map(\.user)))
        }
        guard let lost else {
            Self.tell(present, .userJoined(user), over: namespace)
            // A local participant that came back stands where it stood, not last: who calls the last who came goes by
            // it.
            if member.local != nil {
                for other in present { other.receive(.users(entered.others(than: other))) }
            }
            return
        }
        // The others have not missed them, and are told nothing. The lost connection's own end finds nobody.
        if case .socket(let socket) = lost.connection { socket.disconnect(closing: true) }
    }

    /// Takes a member out; nothing the second time.
    func leave(_ member: CallRoom.Member, tellingOthers: Bool = true) {
        let user = member.user
        let rest: [CallRoom.Member]? = rooms.withLock { rooms in
            guard var room = rooms[user.roomId], let index = room.members.firstIndex(where: { $0 === member }) else {
                return nil
            }
            room.members.remove(at: index)
            rooms[user.roomId] = room.members.isEmpty ? nil : room
            return room.members
        }
        guard let rest, tellingOthers else { return }
        if rest.contains(where: { $0.user.username == user.username }) {
            // Somebody who came back before the server noticed the loss of the first connection is still there. Who
            // counts connections is told how many are left.
            for other in rest { other.receive(.users(rest.filter { $0 !== other }.map(\.user))) }
        } else {
            Self.tell(rest, .userLeft(username: user.username), over: namespace)
        }
    }

    func leave(_ participant: LocalParticipant) {
        let member = rooms.withLock { rooms in
            rooms[participant.user.roomId]?.members.first { $0.isLocal(participant) }
        }
        if let member { leave(member) }
    }

    /// Sends one event to several members; sockets share one encoded message.
    private static func tell(_ members: [CallRoom.Member], _ event: CallRoomEvent, over namespace: SocketIONamespace) {
        var sockets: [SocketIOSocket] = []
        for member in members {
            switch member.connection {
            case .socket(let socket): sockets.append(socket)
            case .local(let participant): participant.receive(event)
            }
        }
        guard let (name, payload) = event.wire else { return }
        namespace.emit(name, [.json(payload)], to: sockets)
    }

    // MARK: Relaying

    private func relay(_ event: SocketIOEvent, from socket: SocketIOSocket) {
        guard let member = socket.userData as? CallRoom.Member else { return }
        guard event.arguments.byteCount <= limits.payload else {
            let data = RawJSON(object: [
                "code": RawJSON(string: "payload_too_large"), "event": RawJSON(string: event.name),
                "limit": RawJSON(limits.payload),
            ])
            return socket.emit(CallRoomEventName.error, [.json(data)])
        }
        socket.relay(event, to: Self.roomName(member.user.roomId))
        event.acknowledge?()
        let locals = localParticipants(in: member.user.roomId)
        guard !locals.isEmpty, let payload = event.arguments.first else { return }
        guard let signal = CallSignal(name: event.name, payload: payload) else { return }
        for participant in locals { participant.receive(CallRoomEvent(signal)) }
    }

    /// A signal of a local participant.
    func relay(_ signal: CallSignal, from sender: LocalParticipant) {
        let room = sender.user.roomId
        namespace.emit(signal.name, [.json(signal.payload)], to: Self.roomName(room))
        for participant in localParticipants(in: room) where participant !== sender {
            participant.receive(CallRoomEvent(signal))
        }
    }

    private func localParticipants(in room: Int) -> [LocalParticipant] {
        rooms.withLock { rooms in
            guard let room = rooms[room], room.localCount > 0 else { return [] }
            return room.members.compactMap(\.local)
        }
    }

    private static func roomName(_ room: Int) -> String { String(room) }
}
