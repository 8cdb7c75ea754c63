import NIOCore

/// One Engine.IO connection of a client: the session and its transports. Lives on one event loop, from `start` to
/// `close`; never used twice.
final class ClientEngine: @unchecked Sendable {
    /// What the owner has to know.
    enum Fact {
        case opened
        case message(EngineIOPacket)
        case closed(EngineIOClientCloseReason)
    }

    private let url: ServerURL
    private let configuration: SocketIOClientConfiguration
    private let loop: any EventLoop
    private let report: (ClientEngine, Fact) -> Void
    private let closePromise: EventLoopPromise<Void>

    private var session: EngineIOClientSession
    private var webSocket: WebSocketClient?
    private var probe: WebSocketClient?
    private var polling: PollingClient?
    /// What waits until the session may send.
    private var outbox: [EngineIOPacket] = []
    private var timer: (at: ContinuousClock.Instant, task: Scheduled<Void>)?

    init(
        url: ServerURL, configuration: SocketIOClientConfiguration, loop: any EventLoop,
        report: @escaping (ClientEngine, Fact) -> Void
    ) {
        self.url = url
        self.configuration = configuration
        self.loop = loop
        self.report = report
        closePromise = loop.makePromise()
        switch configuration.transports {
        case .pollingThenWebSocket: session = EngineIOClientSession(transport: .polling, upgrades: true)
        case .pollingOnly: session = EngineIOClientSession(transport: .polling, upgrades: false)
        case .webSocketOnly: session = EngineIOClientSession(transport: .webSocket, upgrades: false)
        }
    }

    /// Of one that was never closed.
    deinit { closePromise.succeed() }

    /// Done when every connection is closed.
    var closed: EventLoopFuture<Void> { closePromise.futureResult }

    func start() {
        switch configuration.transports {
        case .pollingThenWebSocket, .pollingOnly:
            let polling = PollingClient(endpoint: endpoint, loop: loop, limit: configuration.maxPayload) {
                [weak self] in self?.pollingReported($0)
            }
            self.polling = polling
            polling.poll(target: endpoint.target(transport: .polling, sid: nil))
        case .webSocketOnly:
            webSocket = openWebSocket(sid: nil)
        }
    }

    private var endpoint: ClientEndpoint { ClientEndpoint(url: url, configuration: configuration) }

    private func openWebSocket(sid: String?) -> WebSocketClient {
        WebSocketClient(
            endpoint: endpoint, target: endpoint.target(transport: .webSocket, sid: sid), loop: loop,
            limit: configuration.maxPayload
        ) { [weak self] client, fact in
            self?.webSocketReported(client, fact)
        }
    }

    // MARK: Sending

    func send(_ packet: SocketIOPacket) {
        send([.text(.message, packet.encodedText[...])] + packet.attachments.map { .binary($0[...]) })
    }

    func send(_ packets: [EngineIOPacket]) {
        outbox += packets
        flush()
    }

    private func flush() {
        guard session.maySend, !outbox.isEmpty else { return }
        switch session.transport {
        case .webSocket:
            webSocket?.send(outbox)
            outbox = []
        case .polling:
            guard let polling, let handshake = session.handshake, polling.mayPost else { return }
            let body = EngineIOPayload.encode(takePost(limit: handshake.maxPayload))
            polling.post(body, target: endpoint.target(transport: .polling, sid: handshake.sid))
        case nil: break
        }
    }

    /// As many packets as the server takes in one body; at least one, whose refusal is the server's to tell.
    private func takePost(limit: Int) -> [EngineIOPacket] {
        var size = 0
        var count = 0
        for packet in outbox.prefix(EngineIOPayload.packetsPerBody) {
            let next = EngineIOPayload.length(of: packet) + 1
            guard count == 0 || size + next <= limit else { break }
            size += next
            count += 1
        }
        defer { outbox.removeFirst(count) }
        return Array(outbox.prefix(count))
    }

    // MARK: Transports

    private func pollingReported(_ fact: PollingClient.Fact) {
        switch fact {
        case .polled(let body):
            do {
                let now = ContinuousClock.now
                for packet in try EngineIOPayload.decode(body[...]) {
                    perform(session.packetReceived(packet, at: now))
                }
            } catch {
                return perform(session.close(.protocolError("\(error)")))
            }
            pollAgain()
            reportPauseIfIdle()
        case .posted:
            flush()
            reportPauseIfIdle()
        case .failed(let reason): perform(session.close(reason))
        }
    }

    private func pollAgain() {
        guard session.mayPoll, let polling, let sid = session.handshake?.sid, polling.mayPoll else { return }
        polling.poll(target: endpoint.target(transport: .polling, sid: sid))
    }

    private func reportPauseIfIdle() {
        guard session.phase == .pausing, let polling, polling.mayPoll, polling.mayPost else { return }
        perform(session.pollingPaused())
    }

    private func webSocketReported(_ client: WebSocketClient, _ fact: WebSocketClient.Fact) {
        let now = ContinuousClock.now
        switch fact {
        case .connected: if client === probe { perform(session.probeConnected()) }
        case .packet(let packet):
            if client === webSocket {
                perform(session.packetReceived(packet, at: now))
            } else if client === probe {
                perform(session.probePacketReceived(packet))
            }
        case .closed(let reason, _):
            if client === webSocket {
                perform(session.close(reason))
            } else if client === probe {
                probe = nil
                perform(session.probeLost())
                pollAgain()
                flush()
            }
        }
    }

    // MARK: Actions of the session

    private func perform(_ actions: [EngineIOClientSession.Action]) {
        for action in actions {
            switch action {
            case .opened:
                report(self, .opened)
                // The server's CONNECT reply comes by a poll, whatever becomes of an upgrade.
                if session.transport == .polling { pollAgain() }
            case .send(let packet):
                // Before messages that wait: the server counts the time until it has a pong.
                outbox.insert(packet, at: 0)
                flush()
            case .openProbe: probe = session.handshake.map { openWebSocket(sid: $0.sid) }
            case .sendOnProbe(let packet): probe?.send([packet])
            case .pausePolling: reportPauseIfIdle()
            case .switchToWebSocket:
                webSocket = probe
                probe = nil
                _ = polling?.close()
                polling = nil
                flush()
            case .abandonProbe:
                probe?.close()
                probe = nil
                pollAgain()
                flush()
            case .deliver(let packet): report(self, .message(packet))
            case .close(let reason): end(reason)
            }
        }
        schedule()
    }

    /// Closes everything, after what has been sent.
    func close() {
        if !outbox.isEmpty { flush() }
        perform(session.close(.local))
    }

    private func end(_ reason: EngineIOClientCloseReason) {
        timer?.task.cancel()
        timer = nil
        var ends: [EventLoopFuture<Void>] = []
        let limit = TimeAmount(configuration.disconnectTimeout)
        if reason == .local, let handshake = session.handshake {
            let leaving = EngineIOPacket(.close)
            if let webSocket { ends.append(webSocket.close(saying: leaving, within: limit)) }
            if let polling {
                outbox.append(leaving)
                var bodies: [[UInt8]] = []
                while !outbox.isEmpty { bodies.append(EngineIOPayload.encode(takePost(limit: handshake.maxPayload))) }
                let target = endpoint.target(transport: .polling, sid: handshake.sid)
                ends.append(polling.close(saying: bodies, target: target, within: limit))
            }
        } else {
            if let webSocket { ends.append(webSocket.close(within: limit)) }
            if let polling { ends.append(polling.close(within: limit)) }
        }
        if let probe { ends.append(probe.close(within: limit)) }
        (webSocket, probe, polling) = (nil, nil, nil)
        // Until then the engine is held: its owner has let go of it, and its end succeeds the promise, too.
        EventLoopFuture.andAllComplete(ends, on: loop).whenComplete { _ in self.closePromise.succeed() }
        report(self, .closed(reason))
    }

    // MARK: Time

    private func schedule() {
        guard let wake = session.nextWake else { return }
        if let timer, timer.at <= wake { return }
        timer?.task.cancel()
        let task = loop.scheduleTask(in: TimeAmount(max(.zero, wake - .now))) { [weak self] () -> Void in
            guard let self else { return }
            self.timer = nil
            self.perform(self.session.tick(at: .now))
        }
        timer = (wake, task)
    }
}
