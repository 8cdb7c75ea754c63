/// The client's side of one Engine.IO session, without I/O and clock: handshake, heartbeat watch, and the move
/// from polling to a WebSocket.
public struct EngineIOClientSession: Sendable {
    /// Where the session stands.
    public enum Phase: Hashable, Sendable {
        /// Waiting for the `open` packet.
        case opening(EngineIOTransport)
        /// Open over one transport.
        case open(EngineIOTransport)
        /// Open over polling; the WebSocket has been sent a probe.
        case probing
        /// The probe was answered: no new poll is begun, and the last one is awaited before `upgrade` is sent.
        case pausing
        /// Over.
        case closed(EngineIOClientCloseReason)
    }

    /// What the owner has to do.
    public enum Action: Hashable, Sendable {
        /// The handshake arrived: the protocol above may begin.
        case opened(EngineIOHandshake)
        /// Send a packet over the session's transport.
        case send(EngineIOPacket)
        /// Open a WebSocket with the session's id and report `probeConnected`.
        case openProbe
        /// Send a packet over the probed WebSocket.
        case sendOnProbe(EngineIOPacket)
        /// Begin no further poll or POST; report `pollingPaused` when none is under way.
        case pausePolling
        /// The WebSocket is the transport now.
        case switchToWebSocket
        /// Close the probed WebSocket; polling goes on (again).
        case abandonProbe
        /// Hand a message to the protocol above.
        case deliver(EngineIOPacket)
        /// Close every transport.
        case close(EngineIOClientCloseReason)
    }

    /// Where the session stands.
    public private(set) var phase: Phase
    /// What the server said when it opened the session.
    public private(set) var handshake: EngineIOHandshake?
    private let upgrades: Bool
    private var heartbeatDeadline: ContinuousClock.Instant?

    /// A session that will open over `transport`, and then move to a WebSocket if `upgrades` and the server agrees.
    public init(transport: EngineIOTransport, upgrades: Bool) {
        phase = .opening(transport)
        self.upgrades = upgrades
    }

    /// What carries messages now; nil before the handshake and after the end.
    public var transport: EngineIOTransport? {
        switch phase {
        case .open(let transport): transport
        case .probing, .pausing: .polling
        case .opening, .closed: nil
        }
    }

    /// Whether messages may be sent now. Not while polling is paused for the switch.
    public var maySend: Bool {
        switch phase {
        case .open, .probing: true
        case .opening, .pausing, .closed: false
        }
    }

    /// Whether another poll may be begun.
    public var mayPoll: Bool {
        switch phase {
        case .open(let transport): transport == .polling
        case .probing: true
        case .opening, .pausing, .closed: false
        }
    }

    /// When `tick` is next wanted: the server's next ping is due by then.
    public var nextWake: ContinuousClock.Instant? {
        if case .closed = phase { return nil }
        return heartbeatDeadline
    }

    /// A packet came over the session's transport.
    public mutating func packetReceived(_ packet: EngineIOPacket, at now: ContinuousClock.Instant) -> [Action] {
        switch phase {
        case .closed: return []
        case .opening(let transport): return openReceived(packet, over: transport, at: now)
        case .open, .probing, .pausing: break
        }
        switch packet {
        case .binary, .text(.message, _): return [.deliver(packet)]
        case .text(.ping, let body):
            watchHeartbeat(from: now)
            return [.send(.text(.pong, body))]
        case .text(.close, _): return close(.serverClosed)
        case .text(.open, _), .text(.pong, _), .text(.upgrade, _), .text(.noop, _): return []
        }
    }

    private mutating func openReceived(
        _ packet: EngineIOPacket, over transport: EngineIOTransport, at now: ContinuousClock.Instant
    ) -> [Action] {
        guard case .text(.open, let body) = packet, let handshake = EngineIOHandshake(body) else {
            return close(.protocolError("it did not begin with an Engine.IO handshake"))
        }
        self.handshake = handshake
        phase = .open(transport)
        watchHeartbeat(from: now)
        guard transport == .polling, upgrades, handshake.upgrades.contains(EngineIOTransport.webSocket.rawValue)
        else { return [.opened(handshake)] }
        return [.opened(handshake), .openProbe]
    }

    /// The server pings every `pingInterval`; it may be late by `pingTimeout` (the official client's rule).
    private mutating func watchHeartbeat(from now: ContinuousClock.Instant) {
        heartbeatDeadline = handshake.map { now + $0.pingInterval + $0.pingTimeout }
    }

    /// The WebSocket of `openProbe` is connected.
    public mutating func probeConnected() -> [Action] {
        guard phase == .open(.polling) else { return [.abandonProbe] }
        phase = .probing
        return [.sendOnProbe(EngineIOPacket(.ping, "probe"))]
    }

    /// A packet came over the probed WebSocket.
    public mutating func probePacketReceived(_ packet: EngineIOPacket) -> [Action] {
        switch phase {
        case .probing:
            guard packet == EngineIOPacket(.pong, "probe") else { return probeLost() + [.abandonProbe] }
            phase = .pausing
            return [.pausePolling]
        case .pausing, .opening, .open, .closed: return []
        }
    }

    /// No poll and no POST is under way any more.
    public mutating func pollingPaused() -> [Action] {
        guard phase == .pausing else { return [] }
        phase = .open(.webSocket)
        return [.sendOnProbe(EngineIOPacket(.upgrade)), .switchToWebSocket]
    }

    /// The probed WebSocket could not be opened or went away: polling goes on.
    public mutating func probeLost() -> [Action] {
        switch phase {
        case .probing, .pausing: phase = .open(.polling)
        case .opening, .open, .closed: break
        }
        return []
    }

    /// `nextWake` has come.
    public mutating func tick(at now: ContinuousClock.Instant) -> [Action] {
        guard let heartbeatDeadline, now >= heartbeatDeadline else { return [] }
        return close(.heartbeatMissed)
    }

    /// Ends the session; nothing the second time.
    public mutating func close(_ reason: EngineIOClientCloseReason) -> [Action] {
        if case .closed = phase { return [] }
        phase = .closed(reason)
        return [.close(reason)]
    }
}

/// Why a session of the client ended.
public enum EngineIOClientCloseReason: Error, Hashable, Sendable {
    /// We closed it.
    case local
    /// The server closed it, or the connection was lost.
    case serverClosed
    /// The connection could not be made, or failed; the text says how.
    case transportFailed(String)
    /// The server did not ping in time.
    case heartbeatMissed
    /// The server does not speak the protocol.
    case protocolError(String)
    /// The server refused the request with an Engine.IO error or an HTTP status.
    case refused(status: Int, message: String)
}
