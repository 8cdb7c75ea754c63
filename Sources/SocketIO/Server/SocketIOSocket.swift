import NIOCore
import Synchronization

/// One client in one namespace.
///
/// Safe from any thread; everything takes effect on the event loop of the client's connection, in the order of the
/// calls that one thread makes. Called on that loop (from a handler), it takes effect before the call returns.
public final class SocketIOSocket: @unchecked Sendable {
    /// Lives on the connection's loop.
    enum Phase {
        /// Asking to be let in; what is emitted waits for the CONNECT reply.
        case joining(queue: [EncodedMessage])
        /// Let in, which `onDisconnect` will undo; the CONNECT reply is on its way.
        case admitted(queue: [EncodedMessage])
        case joined
        case left
    }

    /// The id that the client knows as `socket.id`.
    public let id: String
    /// What the client brought along: query, auth object, headers, address.
    public let handshake: SocketIOHandshake
    let context: LoopContext
    let namespaceObject: SocketIONamespace
    let handlers: SocketIONamespace.Handlers
    private let connection: ServerConnection

    // Touched on the connection's loop only.
    var phase = Phase.joining(queue: [])
    private var joinedRooms: [String: SocketIORoom] = [:]
    private var acknowledgements: [Int: PendingAcknowledgement] = [:]
    private var nextAcknowledgement = 0

    /// Whatever the program wants to remember about this client. From any thread.
    private let attachment = Mutex<(any Sendable)?>(nil)
    public var userData: (any Sendable)? {
        get { attachment.withLock { $0 } }
        set { attachment.withLock { $0 = newValue } }
    }

    /// The namespace's name.
    public var namespace: String { namespaceObject.name }

    private struct PendingAcknowledgement {
        let timeout: Scheduled<Void>
        let handler: @Sendable (Result<SocketIOArguments, SocketIOAcknowledgementError>) -> Void
    }

    init(
        id: String, handshake: SocketIOHandshake, connection: ServerConnection, namespace: SocketIONamespace
    ) {
        self.id = id
        self.handshake = handshake
        self.connection = connection
        self.context = connection.context
        self.namespaceObject = namespace
        self.handlers = namespace.currentHandlers
    }

    /// Runs now when already on the connection's loop, else after a hop.
    func run(_ body: @escaping @Sendable (SocketIOSocket) -> Void) {
        if context.loop.inEventLoop { body(self) } else { context.loop.execute { body(self) } }
    }

    // MARK: Sending

    /// Sends an event.
    public func emit(_ event: String, _ arguments: SocketIOArguments = []) {
        let message = EncodedMessage.event(event, arguments, namespace: namespace)
        run { $0.deliver(message) }
    }

    /// Sends an event and waits for its acknowledgement.
    public func emit(_ event: String, _ arguments: SocketIOArguments = [], timeout: Duration)
        async
        throws(SocketIOAcknowledgementError) -> SocketIOArguments
    {
        let result = await withCheckedContinuation { continuation in
            emit(event, arguments, timeout: timeout) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Sends an event; `completion` is called once, on the connection's loop, with the acknowledgement or why there
    /// is none.
    public func emit(
        _ event: String, _ arguments: SocketIOArguments = [], timeout: Duration,
        completion: @escaping @Sendable (Result<SocketIOArguments, SocketIOAcknowledgementError>) -> Void
    ) {
        run { $0.sendAwaitingAcknowledgement(event, arguments, timeout, completion) }
    }

    private func sendAwaitingAcknowledgement(
        _ event: String, _ arguments: SocketIOArguments, _ timeout: Duration,
        _ handler: @escaping @Sendable (Result<SocketIOArguments, SocketIOAcknowledgementError>) -> Void
    ) {
        if case .left = phase { return handler(.failure(.disconnected)) }
        let id = nextAcknowledgement
        nextAcknowledgement += 1
        let timer = context.loop.scheduleTask(in: TimeAmount(timeout)) {
            guard let late = self.acknowledgements.removeValue(forKey: id) else { return }
            late.handler(.failure(.timedOut))
        }
        acknowledgements[id] = PendingAcknowledgement(timeout: timer, handler: handler)
        deliver(.event(event, arguments, namespace: namespace, id: id))
    }

    /// Sends an event to the other members of a room.
    public func broadcast(_ event: String, _ arguments: SocketIOArguments = [], to room: String) {
        namespaceObject.emit(event, arguments, to: room, except: self)
    }

    /// Passes an event of this client on to the other members of a room, byte for byte.
    public func relay(_ event: SocketIOEvent, to room: String) {
        if context.loop.inEventLoop, let room = joinedRooms[room] {
            room.broadcast(.relay(event, namespace: namespace), except: self)
        } else {
            namespaceObject.relay(event, to: room, except: self)
        }
    }

    /// On the loop.
    func deliver(_ message: EncodedMessage) {
        switch phase {
        case .joining(var queue):
            queue.append(message)
            phase = .joining(queue: queue)
        case .admitted(var queue):
            queue.append(message)
            phase = .admitted(queue: queue)
        case .joined: connection.send(message)
        case .left: break
        }
    }

    // MARK: Rooms

    /// Joins a room; nothing if already in it.
    public func join(_ room: String) {
        run { socket in
            if case .left = socket.phase { return }
            guard socket.joinedRooms[room] == nil else { return }
            let entered = socket.namespaceObject.enter(room)
            entered.add(socket)
            socket.joinedRooms[room] = entered
        }
    }

    /// Leaves a room; nothing if not in it.
    public func leave(_ room: String) {
        run { socket in
            guard let left = socket.joinedRooms.removeValue(forKey: room) else { return }
            left.remove(socket)
            socket.namespaceObject.leave(room)
        }
    }

    // MARK: Leaving

    /// Takes the client out of the namespace; with `closing`, its connection is closed too. An official client
    /// does not come back by itself after the former.
    public func disconnect(closing: Bool = false) {
        run { socket in
            if closing { return socket.connection.close(.serverClosed) }
            guard case .joined = socket.phase else { return }
            socket.connection.send(.packet(SocketIOPacket(kind: .disconnect, namespace: socket.namespace)))
            socket.connection.remove(socket, because: .serverLeft)
        }
    }

    /// On the loop: the program lets it in.
    func admitted() {
        guard case .joining(let queue) = phase else { return }
        phase = .admitted(queue: queue)
    }

    /// On the loop: the CONNECT reply was sent.
    func welcomed() {
        guard case .admitted(let queue) = phase else { return }
        phase = .joined
        namespaceObject.everyone.add(self)
        for message in queue { connection.send(message) }
    }

    /// On the loop: gone, for whatever reason.
    func ended(_ reason: SocketIODisconnectReason) {
        let wasAdmitted: Bool
        switch phase {
        case .joining, .left: wasAdmitted = false
        case .admitted, .joined: wasAdmitted = true
        }
        phase = .left
        for (name, room) in joinedRooms {
            room.remove(self)
            namespaceObject.leave(name)
        }
        joinedRooms = [:]
        let pending = acknowledgements
        acknowledgements = [:]
        for acknowledgement in pending.values {
            acknowledgement.timeout.cancel()
            acknowledgement.handler(.failure(.disconnected))
        }
        guard wasAdmitted else { return }
        namespaceObject.everyone.remove(self)
        handlers.disconnect?(self, reason)
    }

    // MARK: Receiving

    /// On the loop.
    func received(_ event: SocketIOEvent) {
        if let handler = handlers.events[event.name] {
            handler(self, event)
        } else {
            handlers.anyEvent?(self, event)
        }
    }

    /// On the loop.
    func received(acknowledgement id: Int, _ arguments: SocketIOArguments) {
        // Late or invented ids are ignored, as the official server does.
        guard let pending = acknowledgements.removeValue(forKey: id) else { return }
        pending.timeout.cancel()
        pending.handler(.success(arguments))
    }

    /// On the loop: an acknowledgement of ours for the client's event `id`.
    func sendAcknowledgement(_ id: Int, _ arguments: SocketIOArguments) {
        guard case .joined = phase else { return }
        connection.send(.acknowledgement(arguments, namespace: namespace, id: id))
    }
}
