internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import RTCNetwork
internal import RTCWire
internal import SocketIO
internal import SwiftProtobuf

/// The WebSocket and the peer connections, and what comes of them.
extension Room {
    // MARK: Signaling

    func openSignal(_ path: SignalPath) {
        closeSignal()
        let generation = socketGeneration
        let (facts, source) = AsyncStream.makeStream(of: BinarySocket.Fact.self)
        socketFacts = source
        // Ends with its stream: by the last fact, by `closeSignal`, or with the room.
        Task { [weak self] in
            for await fact in facts { await self?.signalHappened(fact, generation) }
        }
        let tell: @Sendable (BinarySocket.Fact) -> Void = { fact in
            source.yield(fact)
            if case .closed = fact { source.finish() }
        }
        if let inProcessSignaling = options.inProcessSignaling {
            socket = inProcessSignaling.open(
                EngineIOQuery(items: path.query.map { .init(name: $0.name, value: $0.value) }), tell)
            return
        }
        var target = BinarySocket.Target(url: url, path: path.path)
        target.query = path.query.map { ($0.name, $0.value) }
        target.headers = [("Authorization", "Bearer \(path.token)")]
        // Who joins a large room is told of everybody, with their metadata.
        target.messageLimit = 16 << 20
        target.verifiesCertificates = options.verifiesCertificates
        socket = BinarySocket(to: target, report: tell)
    }

    func closeSignal() {
        socketGeneration += 1
        socket?.close()
        socket = nil
        socketFacts?.finish()
        socketFacts = nil
    }

    func signalHappened(_ fact: BinarySocket.Fact, _ generation: Int) async {
        guard generation == socketGeneration else { return }
        let now = NetworkLoop.now
        switch fact {
        case .open: machine.signalOpened(at: now)
        case .message(let bytes):
            // What cannot be read, or is of a protocol newer than ours, is passed over.
            guard let message = try? LiveKitSignalResponse(serializedBytes: bytes).message else { return }
            machine.receive(message, at: now)
        case .closed(.invalidURL): machine.signalLost(.invalidURL(url), at: now)
        case .closed(.refused(let status, let message)):
            machine.signalLost(.refused(status: status, message: message), at: now)
        case .closed(.lost(let how)): machine.signalLost(.unreachable(how), at: now)
        }
        await apply()
    }

    // MARK: Media

    func openMedia(_ servers: [LiveKitICEServer]) async {
        await closeMedia()
        let generation = mediaGeneration
        do throws(PeerConnectionError) {
            let connections = MediaConnections(
                configuration: try configuration(servers),
                waitForListeners: { [broadcast] in await broadcast.waitForRoom() }
            ) { [weak self] fact in
                await self?.mediaHappened(fact, generation)
            } tell: { [weak self] news, track in
                await self?.told(news, track)
            }
            media = connections
            await connections.start()
        } catch {
            machine.mediaChanged(.failed(.publisher, "\(error)"), at: NetworkLoop.now)
        }
    }

    func closeMedia() async {
        mediaGeneration += 1
        guard let old = media else { return }
        media = nil
        await old.close()
    }

    func configuration(_ servers: [LiveKitICEServer]) throws(PeerConnectionError) -> PeerConnectionConfiguration {
        var configuration = try PeerConnectionConfiguration(
            iceServers: MediaConnections.usable(servers),
            addresses: options.addresses ?? (isServerHere ? .all : .automatic),
            audioCodecs: MediaConnections.audioCodecs, videoCodecs: MediaConnections.videoCodecs)
        // The server's port for networks that let no UDP through.
        configuration.tcp = .active
        if options.relayOnly { configuration.iceTransportPolicy = .relay }
        return configuration
    }

    /// It is on this machine: media may have to go by loopback.
    var isServerHere: Bool {
        if options.inProcessSignaling != nil { return true }
        guard let host = URLComponents(string: url)?.host else { return false }
        return host == "localhost" || IPAddress(host.trimmingCharacters(in: ["[", "]"]))?.isLoopback == true
    }

    func mediaHappened(_ fact: MediaFact, _ generation: Int) async {
        guard generation == mediaGeneration else { return }
        if case .trackAdded(let id, _) = fact, let publication = publications[id],
            let sender = await media?.sender(of: id)
        {
            await media?.limitBitrate(of: id, to: publication.bitrateLimit)
            await publication.use(sender)
            guard generation == mediaGeneration else { return }
        }
        machine.mediaChanged(fact, at: NetworkLoop.now)
        await apply()
    }

    func subscribed(_ sid: TrackSID) async {
        guard let media, let (publication, participant) = machine.roster.track(sid),
            let transceiver = machine.subscribing.subscribed[sid], let receiver = await media.receiver(of: transceiver)
        else { return }
        tracks.removeValue(forKey: sid)?.end()
        // Whether it is encrypted says the server, which could make one of its own.
        let opener = options.encryption.flatMap { keys in
            publication.isEncrypted || !options.acceptsPlain
                ? TrackOpener(keys, of: participant.identity, serverTrailer: machine.session.serverTrailer) : nil
        }
        let track = RemoteTrack(
            publication: publication, participant: participant, receiver: receiver, opener: opener
        ) { [weak media] in await media?.requestKeyFrame(on: transceiver) }
        tracks[sid] = track
        broadcast.send(.trackSubscribed(track))
    }
}
