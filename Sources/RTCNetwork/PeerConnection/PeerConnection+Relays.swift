internal import RTCEngine
internal import RTCWire

/// TURN servers: their addresses, and the streams to those that are reached over TCP or TLS.
extension PeerConnection {
    /// A TURN server at the addresses that its name has: one of each family; over a stream the first alone, as the
    /// system's order has the best in front. None of a STUN server.
    func turnServers(_ server: Server, at addresses: [TransportAddress]) -> [TURNServer] {
        guard let relay = server.relay else { return [] }
        var chosen = addresses.prefix(1)
        if relay.transport == .udp, let first = addresses.first {
            chosen += addresses.first { $0.ip.isIPv6 != first.ip.isIPv6 }.map { [$0] } ?? []
        }
        return chosen.map { address in
            TURNServer(
                address: address, transport: relay.transport, host: server.location.host, username: relay.username,
                password: relay.password, url: server.url)
        }
    }

    /// Nobody knows a server's name.
    func tellUnknown(_ server: Server) {
        eventBroadcast.send(
            .iceCandidateError(
                ICEServerError(url: server.url, errorCode: 701, errorText: "The server's name is not known.")))
    }

    /// A STUN server is asked by its address; who reads of it knows it as it stands in the configuration.
    func named(_ error: ICEServerError) -> ICEServerError {
        let server = askedServers.first { server in
            server.relay == nil && knownAddresses[server.location]?.contains { "stun:\($0)" == error.url } == true
        }
        var error = error
        if let server { error.url = server.url }
        return error
    }

    /// Opens and closes streams. True when that has told the machine something.
    func performRelayCommands() -> Bool {
        var hasNews = false
        while let command = machine.pollRelayCommand() {
            switch command {
            case .open(let id, let server): hasNews = !open(id, to: server) || hasNews
            case .close(let id): close(id)
            }
        }
        return hasNews
    }

    /// False when it could not even be begun.
    private func open(_ id: RelayStreamID, to server: TURNServer) -> Bool {
        do {
            let stream = try RelayStream(to: server, authorities: configuration.turnCertificateAuthorities)
            stream.token = try stream.socket.attach(to: loop, reader: link)
            link.add(stream.token)
            relayStreams[id] = stream
            return true
        } catch {
            machine.relayStreamClosed(id, because: "\(error)", at: NetworkLoop.now)
            return false
        }
    }

    private func close(_ id: RelayStreamID) {
        guard let stream = relayStreams.removeValue(forKey: id) else { return }
        stream.close()
        loop.forget([stream.token])
    }

    /// Something has happened to a stream.
    func relayStreamReady(_ token: UInt64) {
        guard let (id, stream) = relayStreams.first(where: { $0.value.token == token }) else { return }
        let now = NetworkLoop.now
        takeQueuedData()
        let wasOpen = stream.isOpen
        let end = stream.becameReady { message in
            if !wasOpen { noteOpen(id, stream, at: now) }
            machine.receive(&message, on: id, at: now)
            handOutPacket(&message)
        }
        noteOpen(id, stream, at: now)
        if let end {
            close(id)
            machine.relayStreamClosed(id, because: end, at: now)
        }
        flush()
    }

    private func noteOpen(_ id: RelayStreamID, _ stream: RelayStream, at now: Instant) {
        guard stream.isOpen, !stream.isReported else { return }
        stream.isReported = true
        machine.relayStreamOpened(id, at: now)
    }
}
