import NIOCore

/// One Engine.IO session of the server with the namespaces it joined. Lives on one event loop; all but `run` is
/// called there.
///
/// A session that begins by polling stays on the loop of its first request. Its later requests, and the WebSocket
/// it moves to, may be on another: those hop. A session that begins as a WebSocket never hops.
final class ServerConnection: @unchecked Sendable {
    /// A namespace of this connection.
    enum Membership {
        /// The authorizer is thinking.
        case authorizing
        case member(SocketIOSocket)
    }

    let sid: String
    let context: LoopContext
    let server: SocketIOServer
    /// Query, headers, address and transport of the first request.
    let origin: SocketIOHandshake

    var session: EngineIOServerSession
    var webSocket: WebSocketLink?
    var probe: WebSocketLink?
    var poll: PollReply?
    var outbox = PollingOutbox()
    var parser: SocketIOPacketParser
    var memberships: [String: Membership] = [:]
    private var messageBucket: TokenBucket
    private var byteBucket: TokenBucket
    /// Nil once a namespace has been joined.
    private var connectDeadline: ContinuousClock.Instant?
    private var timer: (at: ContinuousClock.Instant, task: Scheduled<Void>)?

    init(
        server: SocketIOServer, context: LoopContext, origin: SocketIOHandshake, at now: ContinuousClock.Instant
    ) {
        let configuration = server.configuration
        self.sid = SocketIOServer.makeID()
        self.context = context
        self.server = server
        self.origin = origin
        session = EngineIOServerSession(transport: origin.transport, configuration: configuration.session, at: now)
        parser = SocketIOPacketParser(attachmentByteLimit: configuration.maxPayload)
        let flood = configuration.flood
        messageBucket = TokenBucket(perSecond: flood.messagesPerSecond, burst: flood.messageBurst, at: now)
        byteBucket = TokenBucket(perSecond: flood.bytesPerSecond, burst: flood.byteBurst, at: now)
        connectDeadline = now + configuration.connectTimeout
    }

    /// Runs now when already on the loop, else after a hop.
    func run(_ body: @escaping @Sendable (ServerConnection) -> Void) {
        if context.loop.inEventLoop { body(self) } else { context.loop.execute { body(self) } }
    }

    /// The handshake for the client, and the first timer.
    func open(at now: ContinuousClock.Instant) -> EngineIOPacket {
        schedule(at: now)
        let configuration = server.configuration
        let upgrades = origin.transport == .polling && configuration.allowsWebSocket
        return EngineIOHandshake(
            sid: sid, upgrades: upgrades ? [EngineIOTransport.webSocket.rawValue] : [],
            pingInterval: configuration.session.pingInterval, pingTimeout: configuration.session.pingTimeout,
            maxPayload: configuration.maxPayload
        ).packet
    }

    // MARK: Sending

    /// Sends one Socket.IO packet, or drops the connection if too much waits already.
    func send(_ message: EncodedMessage) {
        guard let transport = session.transport else { return }
        if message.isEvent { server.counters.eventsOut.add(1) }
        server.counters.bytesOut.add(message.count)
        switch transport {
        case .webSocket:
            guard let webSocket else { return }
            guard webSocket.hasRoom(for: message.count, limit: server.configuration.outboundLimit) else {
                return close(.slowConsumer)
            }
            context.write(message.frames, to: webSocket)
        case .polling:
            guard outbox.count + message.count <= server.configuration.outboundLimit else {
                return close(.slowConsumer)
            }
            outbox.append(message.packets)
            answerPoll()
        }
    }

    /// Sends an Engine.IO packet. By polling it goes before messages that wait: the peer's patience is counted from
    /// now.
    private func send(_ packet: EngineIOPacket) {
        switch session.transport {
        case .webSocket:
            guard let webSocket else { return }
            var frame = ByteBuffer()
            WebSocketFraming.write(packet, into: &frame)
            context.write(frame, to: webSocket)
        case .polling:
            outbox.prepend(packet)
            answerPoll()
        case nil: break
        }
    }

    /// Answers the waiting poll with all that waits.
    func answerPoll() {
        guard !outbox.isEmpty, let poll else { return }
        self.poll = nil
        session.pollAnswered()
        poll.answer(outbox.takeBody())
    }

    // MARK: Actions of the session

    func perform(_ actions: [EngineIOServerSession.Action], at now: ContinuousClock.Instant) {
        for action in actions {
            switch action {
            case .send(let packet): send(packet)
            case .sendOnProbe(let packet): probe?.send(packet)
            case .deliver(let packet): receivedMessage(packet)
            case .releasePoll:
                guard let poll else { break }
                self.poll = nil
                session.pollAnswered()
                poll.answer(outbox.isEmpty ? EngineIOPayload.encode([EngineIOPacket(.noop)]) : outbox.takeBody())
            // Answered where it arrived.
            case .refuseRequest: break
            case .switchToWebSocket: switchToWebSocket()
            case .abandonProbe:
                probe?.close(code: 1000, reason: "upgrade abandoned")
                probe = nil
            case .close(let reason): end(reason)
            }
        }
        // Also without an action: a pong brings the next ping nearer than the end of waiting for it.
        schedule(at: now)
    }

    private func switchToWebSocket() {
        guard let link = probe else { return }
        probe = nil
        webSocket = link
        server.counters.webSockets.add(1)
        for packet in outbox.take(.max) { send(packet) }
    }

    /// Ends the session, whatever its state.
    func close(_ reason: EngineIOCloseReason) {
        perform(session.close(reason), at: .now)
    }

    private func end(_ reason: EngineIOCloseReason) {
        timer?.task.cancel()
        timer = nil
        if let webSocket {
            server.counters.webSockets.add(-1)
            webSocket.close(for: reason)
        }
        probe?.close(for: reason)
        poll?.answer(EngineIOPayload.encode(outbox.take(EngineIOPayload.packetsPerBody - 1) + [EngineIOPacket(.close)]))
        (webSocket, probe, poll) = (nil, nil, nil)
        let left = memberships
        memberships = [:]
        for case .member(let socket) in left.values {
            server.counters.sockets.add(-1)
            socket.ended(.connectionEnded(reason))
        }
        server.closed(self, because: reason)
    }

    // MARK: Time

    /// Sees to it that `tick` runs no later than anybody needs it.
    private func schedule(at now: ContinuousClock.Instant) {
        guard var wake = session.nextWake else { return }
        if let connectDeadline { wake = min(wake, connectDeadline) }
        if let timer {
            // A later wish is served by the earlier timer, which then looks again.
            if timer.at <= wake { return }
            timer.task.cancel()
        }
        let task = context.loop.scheduleTask(in: TimeAmount(max(.zero, wake - now))) { self.tick(at: .now) }
        timer = (wake, task)
    }

    private func tick(at now: ContinuousClock.Instant) {
        timer = nil
        if let connectDeadline, now >= connectDeadline { return close(.connectTimeout) }
        perform(session.tick(at: now), at: now)
        schedule(at: now)
    }

    func namespaceJoined() { connectDeadline = nil }

    /// Whether a namespace was ever joined.
    var hasJoinedBefore: Bool { connectDeadline == nil }

    /// Whether a message of this size keeps within the flood limit.
    func withinLimits(_ count: Int, at now: ContinuousClock.Instant) -> Bool {
        messageBucket.take(1, at: now) && byteBucket.take(Double(count), at: now)
    }
}

/// What waits for the next poll.
struct PollingOutbox {
    private var packets: [EngineIOPacket] = []
    /// How much memory waits, in bytes.
    private(set) var count = 0

    var isEmpty: Bool { packets.isEmpty }

    mutating func append(_ more: [EngineIOPacket]) {
        packets += more
        for packet in more { count += Self.cost(packet) }
    }

    mutating func prepend(_ packet: EngineIOPacket) {
        packets.insert(packet, at: 0)
        count += Self.cost(packet)
    }

    /// Takes at most `limit` packets, the oldest first.
    mutating func take(_ limit: Int) -> [EngineIOPacket] {
        guard packets.count > limit else {
            defer { self = PollingOutbox() }
            return packets
        }
        let taken = Array(packets.prefix(limit))
        packets.removeFirst(limit)
        for packet in taken { count -= Self.cost(packet) }
        return taken
    }

    /// The body of one answer.
    mutating func takeBody() -> [UInt8] { EngineIOPayload.encode(take(EngineIOPayload.packetsPerBody)) }

    /// A packet in the queue takes memory even if it is empty.
    private static func cost(_ packet: EngineIOPacket) -> Int { packet.count + MemoryLayout<EngineIOPacket>.stride }
}

/// A GET that is being held. `answer` or `refuse` may be called from any thread, one of them once.
final class PollReply: Sendable {
    /// Nil refuses.
    private let respond: @Sendable ([UInt8]?) -> Void

    init(respond: @escaping @Sendable ([UInt8]?) -> Void) { self.respond = respond }

    func answer(_ body: [UInt8]) { respond(body) }
    func refuse() { respond(nil) }
}
