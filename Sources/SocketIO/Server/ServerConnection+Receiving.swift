import NIOCore

extension ServerConnection {
    // MARK: Polling

    /// A GET arrived; `reply` is answered now or later.
    func pollArrived(_ reply: PollReply) {
        let actions = session.pollArrived()
        if actions.first == .refuseRequest { reply.refuse() } else { poll = reply }
        perform(actions, at: .now)
        if session.transport == .polling { answerPoll() }
    }

    /// The connection of a held GET went away.
    func pollLost(_ reply: PollReply) {
        guard poll === reply else { return }
        poll = nil
        perform(session.pollLost(), at: .now)
    }

    /// A POST arrived as a whole; `done` tells whether its packets were taken.
    func postArrived(_ body: [UInt8], done: @escaping @Sendable (Bool) -> Void) {
        let now = ContinuousClock.now
        guard session.postArrived().isEmpty else { return done(false) }
        do {
            let packets = try EngineIOPayload.decode(body[...])
            for packet in packets { received(packet, at: now) }
            // A goodbye is taken like anything else.
            let saysGoodbye = packets.contains { if case .text(.close, _) = $0 { true } else { false } }
            done(session.transport != nil || saysGoodbye)
        } catch {
            close(.parseError("\(error)"))
            done(false)
        }
    }

    // MARK: WebSocket

    /// The WebSocket of a session that began with it.
    func webSocketOpened(_ link: WebSocketLink, at now: ContinuousClock.Instant) {
        webSocket = link
        server.counters.webSockets.add(1)
        link.send(open(at: now))
        // Its end may have come before anybody listened for it.
        if !link.channel.isActive { close(.transportClosed) }
    }

    /// A WebSocket that wants to take over from polling.
    func probeOpened(_ link: WebSocketLink) {
        let now = ContinuousClock.now
        guard link.channel.isActive else { return }
        guard session.probeArrived(at: now) else {
            return link.close(code: 1002, reason: "this session cannot upgrade")
        }
        probe = link
        perform([], at: now)
    }

    /// A message of a WebSocket.
    func webSocketReceived(_ packet: EngineIOPacket, on link: WebSocketLink) {
        let now = ContinuousClock.now
        if link === webSocket {
            received(packet, at: now)
        } else if link === probe {
            guard withinLimits(packet.count, at: now) else { return close(.flood) }
            perform(session.probePacketReceived(packet), at: now)
        }
    }

    /// A frame that asks for nothing: a pong, or a part of a message. It counts as a message all the same, since frames
    /// may be empty and come without end.
    func webSocketFrameArrived(on link: WebSocketLink) {
        guard link === webSocket || link === probe else { return }
        guard withinLimits(0, at: .now) else { return close(.flood) }
    }

    /// A ping of the WebSocket itself. It counts as a message: who floods with pings, or does not read the answers,
    /// is not served for ever.
    func webSocketPinged(_ payload: [UInt8], on link: WebSocketLink) {
        guard link === webSocket || link === probe else { return }
        guard withinLimits(payload.count, at: .now) else { return close(.flood) }
        guard link.hasRoom(for: payload.count, limit: server.configuration.outboundLimit) else {
            return close(.slowConsumer)
        }
        link.pong(payload)
    }

    /// A WebSocket broke a rule, or went away (`transportClosed`).
    func webSocketEnded(_ link: WebSocketLink, because reason: EngineIOCloseReason) {
        if link === webSocket {
            close(reason)
        } else if link === probe {
            probe = nil
            link.close(for: reason)
            session.probeLost()
        }
    }

    // MARK: Packets

    private func received(_ packet: EngineIOPacket, at now: ContinuousClock.Instant) {
        guard withinLimits(packet.count, at: now) else { return close(.flood) }
        switch packet {
        // The way of almost everything; the session has no say in it.
        case .text(.message, _), .binary:
            if session.transport != nil { receivedMessage(packet) }
        case .text: perform(session.packetReceived(packet, at: now), at: now)
        }
    }

    /// A message for the Socket.IO layer.
    func receivedMessage(_ message: EngineIOPacket) {
        server.counters.bytesIn.add(message.count)
        let packet: SocketIOPacket?
        do throws(SocketIOPacketError) {
            switch message {
            case .text(_, let text): packet = try parser.receive(text: text)
            case .binary(let bytes): packet = try parser.receive(binary: bytes)
            }
        } catch {
            switch error {
            case .attachmentsTooLarge: return close(.payloadTooLarge)
            case .unknownKind, .malformedHeader, .malformedPayload, .reservedEventName, .illegalAttachments,
                .attachmentsExpected:
                return close(.parseError("\(error)"))
            }
        }
        if let packet { received(packet) }
    }

    private func received(_ packet: SocketIOPacket) {
        if packet.kind == .connect { return connect(packet) }
        guard case .member(let socket) = memberships[packet.namespace] else {
            // After leaving a namespace, late packets for it are normal; before joining one, nothing is.
            if hasJoinedBefore || packet.kind == .disconnect { return }
            return close(.parseError("an event came before the namespace was joined"))
        }
        switch packet.kind {
        case .connect, .connectError: close(.parseError("only servers send this packet"))
        case .disconnect: remove(socket, because: .clientLeft)
        case .event, .binaryEvent:
            guard let (name, arguments) = packet.event, let payload = packet.payload else { return }
            server.counters.eventsIn.add(1)
            let acknowledge = packet.id.map { id in
                let isUnused = OnceFlag()
                return SocketIOEvent.Acknowledgement { arguments in
                    guard isUnused.take() else { return }
                    socket.run { $0.sendAcknowledgement(id, arguments) }
                }
            }
            socket.received(
                SocketIOEvent(name: name, arguments: arguments, acknowledge: acknowledge, payload: payload))
        case .ack, .binaryAck:
            guard let id = packet.id, let arguments = packet.acknowledgement else { return }
            socket.received(acknowledgement: id, arguments)
        }
    }

    // MARK: Namespaces

    private func connect(_ packet: SocketIOPacket) {
        let name = packet.namespace
        guard memberships[name] == nil else { return close(.parseError("a namespace was joined twice")) }
        guard memberships.count < server.configuration.namespaceLimit else {
            return refuse(name, message: "Too many namespaces", data: nil)
        }
        guard let namespace = server.existingNamespace(name) else {
            return refuse(name, message: "Invalid namespace", data: nil)
        }
        var handshake = origin
        handshake.namespace = name
        handshake.auth = packet.payload
        if !packet.query.isEmpty {
            handshake.query = EngineIOQuery(items: EngineIOQuery(packet.query).items + origin.query.items)
        }
        guard let authorizer = namespace.currentHandlers.authorizer else {
            return join(namespace, handshake, data: nil)
        }
        memberships[name] = .authorizing
        Task { [handshake] in
            let admission = await authorizer(handshake)
            self.run { $0.authorized(namespace, handshake, admission) }
        }
    }

    private func authorized(
        _ namespace: SocketIONamespace, _ handshake: SocketIOHandshake, _ admission: SocketIOAdmission
    ) {
        guard case .authorizing = memberships[namespace.name] else { return }
        memberships[namespace.name] = nil
        switch admission {
        case .accept(let data): join(namespace, handshake, data: data)
        case .refuse(let message, let data): refuse(namespace.name, message: message, data: data)
        }
    }

    private func join(_ namespace: SocketIONamespace, _ handshake: SocketIOHandshake, data: RawJSON?) {
        let socket = SocketIOSocket(
            id: SocketIOServer.makeID(), handshake: handshake, connection: self, namespace: namespace)
        var data = data
        switch socket.handlers.connect?(socket) ?? .accept() {
        case .accept(let more): data = more ?? data
        case .refuse(let message, let data):
            socket.ended(.serverLeft)
            return refuse(namespace.name, message: message, data: data)
        }
        socket.admitted()
        // The handler may have closed the connection.
        guard session.transport != nil else { return socket.ended(.serverLeft) }
        memberships[namespace.name] = .member(socket)
        namespaceJoined()
        server.counters.sockets.add(1)
        let reply =
            if let data {
                RawJSON(object: ["sid": RawJSON(string: socket.id), "data": data])
            } else {
                RawJSON(object: ["sid": RawJSON(string: socket.id)])
            }
        send(.packet(SocketIOPacket(kind: .connect, namespace: namespace.name, payload: reply)))
        socket.welcomed()
    }

    private func refuse(_ namespace: String, message: String, data: RawJSON?) {
        server.counters.connectErrors.add(1)
        let payload =
            if let data {
                RawJSON(object: ["message": RawJSON(string: message), "data": data])
            } else {
                RawJSON(object: ["message": RawJSON(string: message)])
            }
        send(.packet(SocketIOPacket(kind: .connectError, namespace: namespace, payload: payload)))
    }

    /// Takes a socket out of its namespace; the connection stays.
    func remove(_ socket: SocketIOSocket, because reason: SocketIODisconnectReason) {
        guard case .member(let member) = memberships[socket.namespace], member === socket else { return }
        memberships[socket.namespace] = nil
        server.counters.sockets.add(-1)
        socket.ended(reason)
    }
}
