/// The server's side of one Engine.IO session, without I/O and clock: heartbeat, the move from polling to a
/// WebSocket, and the rules about overlapping requests.
///
/// Facts come in (`packetReceived`, `pollArrived`, `tick` …), things to do come out. Messages are not queued here:
/// the owner sends them over `transport`.
public struct EngineIOServerSession: Sendable {
    /// The intervals of a session.
    public struct Configuration: Hashable, Sendable {
        /// How often the client is pinged.
        public var pingInterval: Duration
        /// How long it may take to answer.
        public var pingTimeout: Duration
        /// How long a probed WebSocket may take to finish the upgrade.
        public var upgradeTimeout: Duration

        public init(
            pingInterval: Duration = .seconds(25), pingTimeout: Duration = .seconds(20),
            upgradeTimeout: Duration = .seconds(10)
        ) {
            self.pingInterval = pingInterval
            self.pingTimeout = pingTimeout
            self.upgradeTimeout = upgradeTimeout
        }
    }

    /// Where the session stands.
    public enum Phase: Hashable, Sendable {
        /// Long-polling, no WebSocket in sight.
        case polling
        /// Long-polling still carries everything; a WebSocket is being probed and has until `deadline`.
        case probing(deadline: ContinuousClock.Instant)
        /// The WebSocket carries everything.
        case webSocket
        /// Over.
        case closed(EngineIOCloseReason)
    }

    /// What the owner has to do.
    public enum Action: Hashable, Sendable {
        /// Send a packet over the session's transport.
        case send(EngineIOPacket)
        /// Send a packet over the WebSocket that is being probed.
        case sendOnProbe(EngineIOPacket)
        /// Hand a message to the protocol above.
        case deliver(EngineIOPacket)
        /// Answer the waiting poll with a `noop`, so that the client can stop polling.
        case releasePoll
        /// Answer the GET or the POST that has just arrived with an error.
        case refuseRequest
        /// The probed WebSocket is the transport now: send what waits for a poll over it.
        case switchToWebSocket
        /// Close the probed WebSocket; polling goes on.
        case abandonProbe
        /// Close whatever transport there is and forget the session.
        case close(EngineIOCloseReason)
    }

    private enum Heartbeat: Hashable, Sendable {
        case pingDue(ContinuousClock.Instant)
        case pongDue(ContinuousClock.Instant)
    }

    /// Whether a GET of the client waits for packets.
    private var hasPoll = false
    /// Whether the probed WebSocket has been answered: from then on the client wants to stop polling.
    private var isProbeAnswered = false
    private var heartbeat: Heartbeat
    private let configuration: Configuration
    /// Where the session stands.
    public private(set) var phase: Phase

    /// A session that has just been opened over `transport`.
    public init(transport: EngineIOTransport, configuration: Configuration, at now: ContinuousClock.Instant) {
        self.configuration = configuration
        switch transport {
        case .polling: phase = .polling
        case .webSocket: phase = .webSocket
        }
        heartbeat = .pingDue(now + configuration.pingInterval)
    }

    /// What carries messages now; nil when closed.
    public var transport: EngineIOTransport? {
        switch phase {
        case .polling, .probing: .polling
        case .webSocket: .webSocket
        case .closed: nil
        }
    }

    /// When `tick` is next wanted; nil when closed.
    public var nextWake: ContinuousClock.Instant? {
        let beat =
            switch heartbeat {
            case .pingDue(let instant), .pongDue(let instant): instant
            }
        switch phase {
        case .polling, .webSocket: return beat
        case .probing(let deadline): return min(beat, deadline)
        case .closed: return nil
        }
    }

    /// A GET arrived. It is to be held until there is something to send, unless an action says otherwise.
    public mutating func pollArrived() -> [Action] {
        switch phase {
        case .polling, .probing:
            // Two polls at once would split the packets between them: the official server ends the session.
            guard !hasPoll else { return [.refuseRequest] + close(.transportError("two polls at once")) }
            hasPoll = true
            // Before the answer the poll is held as ever: a WebSocket that leads nowhere makes nobody poll in circles.
            if case .probing = phase, isProbeAnswered { return [.releasePoll] }
            return []
        case .webSocket, .closed: return [.refuseRequest]
        }
    }

    /// The waiting GET was answered.
    public mutating func pollAnswered() { hasPoll = false }

    /// The waiting GET's connection was lost.
    public mutating func pollLost() -> [Action] {
        guard hasPoll else { return [] }
        hasPoll = false
        return transport == .polling ? close(.transportClosed) : []
    }

    /// A POST arrived as a whole. Two at once cannot be told apart from two in turn, and do no harm.
    public mutating func postArrived() -> [Action] { transport == .polling ? [] : [.refuseRequest] }

    /// A WebSocket with this session's id arrived; false if it cannot be probed.
    public mutating func probeArrived(at now: ContinuousClock.Instant) -> Bool {
        switch phase {
        case .polling:
            phase = .probing(deadline: now + configuration.upgradeTimeout)
            isProbeAnswered = false
            return true
        case .probing, .webSocket, .closed: return false
        }
    }

    /// The probed WebSocket went away before it took over.
    public mutating func probeLost() {
        if case .probing = phase { phase = .polling }
    }

    /// A packet came over the WebSocket that is being probed.
    public mutating func probePacketReceived(_ packet: EngineIOPacket) -> [Action] {
        guard case .probing = phase, case .text(let kind, let body) = packet else { return [] }
        switch kind {
        case .ping where body.elementsEqual("probe".utf8):
            isProbeAnswered = true
            let answer = Action.sendOnProbe(EngineIOPacket(.pong, "probe"))
            return hasPoll ? [answer, .releasePoll] : [answer]
        case .upgrade:
            phase = .webSocket
            return hasPoll ? [.releasePoll, .switchToWebSocket] : [.switchToWebSocket]
        case .open, .close, .ping, .pong, .message, .noop:
            phase = .polling
            return [.abandonProbe]
        }
    }

    /// A packet came over the session's transport.
    public mutating func packetReceived(_ packet: EngineIOPacket, at now: ContinuousClock.Instant) -> [Action] {
        guard transport != nil else { return [] }
        switch packet {
        case .binary, .text(.message, _): return [.deliver(packet)]
        case .text(.pong, _):
            heartbeat = .pingDue(now + configuration.pingInterval)
            return []
        case .text(.close, _): return close(.transportClosed)
        case .text(.ping, _), .text(.open, _):
            // Only revision 3 clients ping; the official server ends the session as well.
            return close(.transportError("unexpected heartbeat direction"))
        case .text(.upgrade, _), .text(.noop, _): return []
        }
    }

    /// `nextWake` has come.
    public mutating func tick(at now: ContinuousClock.Instant) -> [Action] {
        guard transport != nil else { return [] }
        var actions: [Action] = []
        if case .probing(let deadline) = phase, now >= deadline {
            phase = .polling
            actions.append(.abandonProbe)
        }
        switch heartbeat {
        case .pingDue(let instant) where now >= instant:
            heartbeat = .pongDue(now + configuration.pingTimeout)
            actions.append(.send(EngineIOPacket(.ping)))
        case .pongDue(let instant) where now >= instant:
            return actions + close(.pingTimeout)
        case .pingDue, .pongDue: break
        }
        return actions
    }

    /// Ends the session; nothing the second time.
    public mutating func close(_ reason: EngineIOCloseReason) -> [Action] {
        guard transport != nil else { return [] }
        phase = .closed(reason)
        return [.close(reason)]
    }
}

/// Why a session of the server ended.
public enum EngineIOCloseReason: Hashable, Sendable {
    /// The client closed, or its connection went away.
    case transportClosed
    /// The client broke the transport's rules.
    case transportError(String)
    /// A text that is not UTF-8.
    case malformedText
    /// No answer to a ping.
    case pingTimeout
    /// A packet could not be read, or came when it must not.
    case parseError(String)
    /// No namespace was joined in time.
    case connectTimeout
    /// More messages or bytes a second than the server allows.
    case flood
    /// A message larger than `maxPayload`.
    case payloadTooLarge
    /// The client reads more slowly than others write to it.
    case slowConsumer
    /// The server's program asked for it.
    case serverClosed
    /// The server is going down; clients should come back later.
    case serverShutdown

    /// A short name for metrics.
    public var label: String {
        switch self {
        case .transportClosed: "transport_closed"
        case .transportError, .malformedText: "transport_error"
        case .pingTimeout: "ping_timeout"
        case .parseError: "parse_error"
        case .connectTimeout: "connect_timeout"
        case .flood: "flood"
        case .payloadTooLarge: "payload_too_large"
        case .slowConsumer: "slow_consumer"
        case .serverClosed: "server_closed"
        case .serverShutdown: "server_shutdown"
        }
    }

    /// One sentence for a log or a close frame (at most 123 bytes, RFC 6455 §5.5.1).
    public var sentence: String {
        switch self {
        case .transportClosed: "The client closed the connection."
        case .transportError(let text): "The client broke the transport's rules: \(text)."
        case .malformedText: "A text is not UTF-8."
        case .pingTimeout: "The client did not answer a ping in time."
        case .parseError(let text): "A packet could not be read: \(text)."
        case .connectTimeout: "No namespace was joined in time."
        case .flood: "Too many messages a second."
        case .payloadTooLarge: "A message is larger than this server takes."
        case .slowConsumer: "The client reads too slowly."
        case .serverClosed: "The server closed the connection."
        case .serverShutdown: "The server is going down."
        }
    }
}
