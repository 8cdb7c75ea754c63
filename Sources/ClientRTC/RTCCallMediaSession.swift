internal import ClientKit
internal import MediaFiles
internal import RTCEngine
internal import RTCNetwork
internal import RTCWire

/// The media of one call over a `PeerConnection`.
actor RTCCallMediaSession: CallMediaSession {
    nonisolated let events: AsyncStream<CallMediaEvent>
    private nonisolated let continuation: AsyncStream<CallMediaEvent>.Continuation

    private let connection: PeerConnection
    private let media: CallMedia
    private let sink: (any CallFrameSink)?
    private let restartsICEAfter: Interval?

    private var players: [RTPTransceiver: FilePlayer] = [:]
    /// Players and timers, cancelled at the end.
    private var tasks: [Task<Void, Never>] = []
    /// Readers of what comes in; they end by themselves, after the last frame.
    private var readers: [Task<Void, Never>] = []
    /// Follows the connection's events to their end; set once.
    private var follower: Task<Void, Never>?
    private var isMicrophoneOn = true
    private var isCameraOn = true
    private var wantsIceRestart = false
    /// Whether an offer or answer has been made: what the connection asks for before that is that first one.
    private var hasNegotiated = false
    private var isClosed = false
    private var hasScheduledRestart = false
    private var isReportingStatistics = false
    private(set) var remoteVideo: VideoSurface?

    /// There is no camera: nothing to show.
    nonisolated var localVideo: VideoSurface? { get async { nil } }

    init(connection: PeerConnection, media: CallMedia, restartsICEAfter: Interval?, sink: (any CallFrameSink)?) {
        self.connection = connection
        self.media = media
        self.restartsICEAfter = restartsICEAfter
        self.sink = sink
        (events, continuation) = AsyncStream.makeStream()
    }

    /// Begins to follow the connection. Called once, before anything else.
    func start() {
        let peerEvents = connection.events
        follower = Task { await follow(peerEvents) }
    }

    // MARK: Negotiation

    func createOffer() async throws(CallMediaError) -> SessionDescriptionPayload {
        let connection = connection
        let restarting = wantsIceRestart
        let offer = try await rejecting { () async throws(PeerConnectionError) in
            if await connection.transceivers.isEmpty {
                _ = try await connection.addTransceiver(.audio, streams: ["roost"])
                _ = try await connection.addTransceiver(.video, streams: ["roost"])
            }
            let offer = try await connection.createOffer(iceRestart: restarting)
            try await connection.setLocalDescription(offer)
            // With the candidates that are known by now: on a restart they come out at once, and one that overtakes
            // the description of its generation would be refused.
            return await connection.localDescription ?? offer
        }
        wantsIceRestart = false
        hasNegotiated = true
        return SessionDescriptionPayload(type: .offer, sdp: offer.sdp)
    }

    func createAnswer(to offer: SessionDescriptionPayload) async throws(CallMediaError) -> SessionDescriptionPayload {
        let connection = connection
        let answer = try await rejecting { () async throws(PeerConnectionError) in
            if await connection.transceivers.isEmpty {
                _ = try await connection.addTrack(.audio, streams: ["roost"])
                _ = try await connection.addTrack(.video, streams: ["roost"])
            }
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: offer.sdp))
            let answer = try await connection.createAnswer()
            try await connection.setLocalDescription(answer)
            return await connection.localDescription ?? answer
        }
        hasNegotiated = true
        return SessionDescriptionPayload(type: .answer, sdp: answer.sdp)
    }

    func setRemoteAnswer(_ answer: SessionDescriptionPayload) async throws(CallMediaError) {
        let connection = connection
        try await rejecting { () async throws(PeerConnectionError) in
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .answer, sdp: answer.sdp))
        }
    }

    func addRemoteCandidate(_ candidate: IceCandidatePayload) async throws(CallMediaError) {
        let connection = connection
        let candidate = ICECandidateInit(
            candidate: candidate.candidate, sdpMid: candidate.sdpMid, sdpMLineIndex: candidate.sdpMLineIndex,
            usernameFragment: candidate.usernameFragment)
        try await rejecting { () async throws(PeerConnectionError) in try await connection.addICECandidate(candidate) }
    }

    func restartIce() async throws(CallMediaError) {
        guard !isClosed else { throw .closed }
        wantsIceRestart = true
    }

    private func rejecting<Value: Sendable>(
        _ body: sending () async throws(PeerConnectionError) -> Value
    ) async throws(CallMediaError) -> Value {
        guard !isClosed else { throw .closed }
        do throws(PeerConnectionError) {
            return try await body()
        } catch {
            switch error {
            case .peer(.closed): throw .closed
            case .peer, .fixedConfiguration: throw .rejected("\(error)")
            case .noSocket, .interfaces, .noAddress, .iceServer, .iceServerCredential, .certificate:
                throw .unavailable("\(error)")
            }
        }
    }

    // MARK: Media

    func setMicrophone(enabled: Bool) async {
        isMicrophoneOn = enabled
        for (transceiver, player) in players where transceiver.kind == .audio { await player.setPaused(!enabled) }
    }

    func setCamera(enabled: Bool) async {
        isCameraOn = enabled
        for (transceiver, player) in players where transceiver.kind == .video { await player.setPaused(!enabled) }
        await alignSound()
    }

    /// A picture that went to its next key frame is ahead of the file's sound: the sound goes there too.
    private func alignSound() async {
        guard let video = players.first(where: { $0.key.kind == .video })?.value else { return }
        let lead = await video.lead
        for (transceiver, player) in players where transceiver.kind == .audio { await player.follow(lead: lead) }
    }

    /// Plays the file that fits what was negotiated, on each transceiver that has no player yet.
    private func startPlayers() async {
        for transceiver in await connection.transceivers where players[transceiver] == nil {
            guard let format = await connection.sendingFormat(of: transceiver), let track = media.track(for: format),
                !isClosed, players[transceiver] == nil
            else { continue }
            let source = MediaSource(track: track, ending: media.ending, roundLength: media.roundLength)
            let player = FilePlayer(playing: source, on: transceiver.sender)
            players[transceiver] = player
            await player.setPaused(transceiver.kind == .audio ? !isMicrophoneOn : !isCameraOn)
            tasks.append(Task { await player.run() })
        }
    }

    private func receive(_ transceiver: RTPTransceiver) {
        let kind: CallTrackKind = transceiver.kind == .audio ? .audio : .video
        let id = "\(transceiver.id)"
        if kind == .video { remoteVideo = VideoSurface(id: id) }
        continuation.yield(.remoteTrack(kind: kind, id: id))
        if kind == .audio, case .echo = media.sound {
            let voice = transceiver.receiver.frames
            tasks.append(Task { for await frame in voice { try? await transceiver.sender.send(frame) } })
        }
        guard let sink else { return }
        let frames = transceiver.receiver.frames
        readers.append(Task { for await frame in frames { await sink.receive(frame) } })
    }

    // MARK: Events

    private func follow(_ peerEvents: AsyncStream<PeerConnectionEvent>) async {
        var receiving: Set<RTPTransceiver> = []
        for await event in peerEvents {
            switch event {
            case .iceCandidate(let candidate):
                continuation.yield(
                    .localCandidate(
                        IceCandidatePayload(
                            candidate: candidate.candidate, sdpMid: candidate.sdpMid,
                            sdpMLineIndex: candidate.sdpMLineIndex, usernameFragment: candidate.usernameFragment)))
            case .connectionStateChange(let state, _):
                if state == .connected {
                    await startPlayers()
                    scheduleICERestart()
                    startStatistics()
                }
                continuation.yield(.connectionState(CallMediaConnectionState(state)))
            case .signalingStateChange(.stable):
                if await connection.connectionState == .connected { await startPlayers() }
            case .track(let transceiver):
                if receiving.insert(transceiver).inserted { receive(transceiver) }
            case .keyFrameRequested(let transceiver):
                await players[transceiver]?.keyFrameRequested()
                await alignSound()
            case .negotiationNeeded:
                if hasNegotiated { continuation.yield(.negotiationNeeded) }
            case .signalingStateChange, .iceConnectionStateChange, .iceGatheringStateChange, .iceCandidateError,
                .trackEnded, .dataChannel:
                continue
            }
        }
        await ended()
    }

    /// For tests of the other side: asks for new paths once, in the middle of the call.
    private func scheduleICERestart() {
        guard let delay = restartsICEAfter, !hasScheduledRestart else { return }
        hasScheduledRestart = true
        tasks.append(
            Task { [weak self] in
                guard (try? await Task.sleep(for: delay.duration)) != nil else { return }
                await self?.connection.restartICE()
            })
    }

    /// From the first connection on, once a second while connected.
    private func startStatistics() {
        guard !isReportingStatistics, !isClosed else { return }
        isReportingStatistics = true
        tasks.append(Task { [weak self] in await self?.reportStatistics() })
    }

    private func reportStatistics() async {
        var meter = StatisticsMeter()
        // Rates need two readings.
        _ = meter.measure(await connection.getStats())
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            guard await connection.connectionState == .connected else { continue }
            continuation.yield(.statistics(meter.measure(await connection.getStats())))
        }
    }

    func close() async {
        guard !isClosed else { return }
        isClosed = true
        await connection.close()
        // What has come in is still written: whoever waits for the call's end finds the recording complete.
        await follower?.value
    }

    /// The connection's events have ended, so it is closed.
    private func ended() async {
        isClosed = true
        for task in tasks { task.cancel() }
        tasks = []
        players = [:]
        for reader in readers { await reader.value }
        readers = []
        await sink?.finish()
        continuation.finish()
    }
}

extension CallMediaConnectionState {
    init(_ state: PeerConnectionState) {
        switch state {
        case .new: self = .new
        case .connecting: self = .connecting
        case .connected: self = .connected
        case .disconnected: self = .disconnected
        case .failed: self = .failed
        case .closed: self = .closed
        }
    }
}
