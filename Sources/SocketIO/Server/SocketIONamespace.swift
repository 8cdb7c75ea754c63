import Synchronization

/// A namespace of a `SocketIOServer`: its handlers, and broadcasts to its sockets and rooms.
///
/// Handlers are registered before the first client connects; a socket keeps those that were there when it joined.
/// The synchronous ones run on the event loop of the socket's connection: they must not block, and all that
/// concerns one socket runs in order.
public final class SocketIONamespace: Sendable {
    /// Decides who may join, and prepares the socket: it may already join rooms and emit (sent after the CONNECT
    /// reply).
    public typealias ConnectHandler = @Sendable (SocketIOSocket) -> SocketIOAdmission
    /// Decides who may join, when that takes time (a database, another service).
    public typealias Authorizer = @Sendable (SocketIOHandshake) async -> SocketIOAdmission
    public typealias EventHandler = @Sendable (SocketIOSocket, SocketIOEvent) -> Void
    public typealias DisconnectHandler = @Sendable (SocketIOSocket, SocketIODisconnectReason) -> Void

    /// The registered handlers; a value, copied to each socket by reference counting only.
    struct Handlers: Sendable {
        var authorizer: Authorizer?
        var connect: ConnectHandler?
        var disconnect: DisconnectHandler?
        var anyEvent: EventHandler?
        var events: [String: EventHandler] = [:]
    }

    private struct Membership {
        var room: SocketIORoom
        var count: Int
    }

    /// With a leading slash.
    public let name: String
    let contexts: [LoopContext]
    /// Written while the server is set up.
    private let handlers = Mutex(Handlers())
    /// Written whenever a socket joins or leaves a room.
    private let rooms = Mutex<[String: Membership]>([:])
    /// Every socket of the namespace.
    let everyone: SocketIORoom

    init(name: String, contexts: [LoopContext]) {
        self.name = name
        self.contexts = contexts
        self.everyone = SocketIORoom(name: "", contexts: contexts)
    }

    var currentHandlers: Handlers { handlers.withLock { $0 } }

    /// Called before `onConnect`, away from the event loop.
    public func authorize(_ authorizer: @escaping Authorizer) {
        handlers.withLock { $0.authorizer = authorizer }
    }

    /// Called when a client wants to join.
    public func onConnect(_ handler: @escaping ConnectHandler) {
        handlers.withLock { $0.connect = handler }
    }

    /// Called when a socket that was let in has left, for whatever reason.
    public func onDisconnect(_ handler: @escaping DisconnectHandler) {
        handlers.withLock { $0.disconnect = handler }
    }

    /// Called for each event of this name.
    public func on(_ event: String, _ handler: @escaping EventHandler) {
        handlers.withLock { $0.events[event] = handler }
    }

    /// Called for each event without a handler of its own.
    public func onAny(_ handler: @escaping EventHandler) {
        handlers.withLock { $0.anyEvent = handler }
    }

    /// Like `on`, with a task for each event: events of one socket may then overtake each other.
    public func onAsync(
        _ event: String, _ handler: @escaping @Sendable (SocketIOSocket, SocketIOEvent) async -> Void
    ) {
        on(event) { socket, event in
            Task { await handler(socket, event) }
        }
    }

    /// Sends an event to the members of a room, or to every socket of the namespace. From any thread.
    public func emit(
        _ event: String, _ arguments: SocketIOArguments = [], to room: String? = nil,
        except excluded: SocketIOSocket? = nil
    ) {
        guard let room = target(room) else { return }
        room.broadcast(.event(event, arguments, namespace: name), except: excluded)
    }

    /// Sends one event to these sockets, encoded once. From any thread.
    public func emit(_ event: String, _ arguments: SocketIOArguments = [], to sockets: [SocketIOSocket]) {
        guard !sockets.isEmpty else { return }
        let message = EncodedMessage.event(event, arguments, namespace: name)
        for socket in sockets { socket.run { $0.deliver(message) } }
    }

    /// Passes an event on to the members of a room, byte for byte. From any thread.
    public func relay(_ event: SocketIOEvent, to room: String? = nil, except excluded: SocketIOSocket? = nil) {
        guard let room = target(room) else { return }
        room.broadcast(.relay(event, namespace: name), except: excluded)
    }

    /// How many sockets are in a room.
    public func memberCount(of room: String) -> Int { rooms.withLock { $0[room]?.count ?? 0 } }

    /// How many rooms have members.
    var roomCount: Int { rooms.withLock { $0.count } }

    private func target(_ room: String?) -> SocketIORoom? {
        guard let room else { return everyone }
        return rooms.withLock { $0[room]?.room }
    }

    func enter(_ name: String) -> SocketIORoom {
        rooms.withLock { rooms in
            var membership = rooms[name] ?? Membership(room: SocketIORoom(name: name, contexts: contexts), count: 0)
            membership.count += 1
            rooms[name] = membership
            return membership.room
        }
    }

    func leave(_ name: String) {
        rooms.withLock { rooms in
            guard var membership = rooms[name] else { return }
            membership.count -= 1
            rooms[name] = membership.count > 0 ? membership : nil
        }
    }
}

/// Why a socket left its namespace.
public enum SocketIODisconnectReason: Hashable, Sendable {
    /// The client left the namespace and may still be connected.
    case clientLeft
    /// The server's program disconnected it.
    case serverLeft
    /// The whole connection ended.
    case connectionEnded(EngineIOCloseReason)

    /// One sentence for a log.
    public var sentence: String {
        switch self {
        case .clientLeft: "The client left the namespace."
        case .serverLeft: "The server disconnected the client."
        case .connectionEnded(let reason): reason.sentence
        }
    }
}
