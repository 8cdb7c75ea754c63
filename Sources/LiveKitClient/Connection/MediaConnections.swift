internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import RTCNetwork
internal import RTCWire
internal import Synchronization

/// Both peer connections of one session. Commands are done one after the other, in the order in which they were given;
/// what comes of them and what the connections do by themselves is reported.
actor MediaConnections {
    /// What is offered and accepted. Servers of this protocol have all of them. H.265 comes last: what is taken, no
    /// browser is asked to send.
    static let audioCodecs: [CodecParameters] = [.repairedOpus, .pcmu, .pcma]
    static let videoCodecs = CodecParameters.defaultVideo + [.anyLevelH265]

    private let publisher: PeerConnection
    private let subscriber: PeerConnection
    private let report: @Sendable (MediaFact) async -> Void
    /// Back when those who listen have room for another reliable message.
    private let waitForListeners: @Sendable () async -> Void

    private nonisolated let commands: AsyncStream<MediaCommand>.Continuation
    private let commandStream: AsyncStream<MediaCommand>
    /// Messages, each kind on its way of its own: lossy ones are of no use behind reliable ones that wait.
    private nonisolated let reliable: AsyncStream<[UInt8]>.Continuation
    private let reliableStream: AsyncStream<[UInt8]>
    private nonisolated let lossy: AsyncStream<[UInt8]>.Continuation
    private let lossyStream: AsyncStream<[UInt8]>
    /// Frames of data tracks, in packets.
    private nonisolated let frames: AsyncStream<[[UInt8]]>.Continuation
    private let frameStream: AsyncStream<[[UInt8]]>
    /// Of frames: while more has not gone out, the next one waits. Messages, which share the way, are not held up long.
    private static let frameThreshold = 256 << 10
    /// Bytes of reliable messages that have not been given to their channel.
    private nonisolated let queuedBytes = Atomic(0)
    /// Beyond it senders wait (`waitForRoom`).
    private static let queueLimit = 4 << 20
    private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var nextWaiter = 0

    private var channels: [DataLabel: DataChannel] = [:]
    private var senders: [LocalTrackID: Sending] = [:]
    /// Of tracks that are over.
    private var idle: [Sending] = []
    private var receivers: [TransceiverID: RTPTransceiver] = [:]
    private static let earlyLimit = 256
    /// Candidates of the server's that came before its first description.
    private var early: [SignalTarget: [ICECandidateInit]] = [.publisher: [], .subscriber: []]
    private var tasks: [Task<Void, Never>] = []
    private var isClosed = false
    /// Told what concerns the encoder of a track of ours.
    private let tell: @Sendable (EncoderNews, LocalTrackID) async -> Void

    private struct Sending {
        let transceiver: RTPTransceiver
        let encodings: [SendEncoding]
    }

    init(
        configuration: PeerConnectionConfiguration, waitForListeners: @escaping @Sendable () async -> Void,
        report: @escaping @Sendable (MediaFact) async -> Void,
        tell: @escaping @Sendable (EncoderNews, LocalTrackID) async -> Void
    ) {
        publisher = PeerConnection(configuration: configuration)
        subscriber = PeerConnection(configuration: configuration)
        self.waitForListeners = waitForListeners
        self.report = report
        self.tell = tell
        (commandStream, commands) = AsyncStream.makeStream()
        (reliableStream, reliable) = AsyncStream.makeStream()
        // Of those that not even the task gets to send, the newest count.
        (lossyStream, lossy) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
        (frameStream, frames) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(DataQueue.frameLimit))
    }

    /// Those of a server's ICE servers that can be used here: one that cannot does not keep the others from it.
    static func usable(_ servers: [LiveKitICEServer]) -> [PeerConnectionConfiguration.ICEServer] {
        servers.flatMap { server in
            server.urls.map { url in
                PeerConnectionConfiguration.ICEServer(
                    urls: [url], username: server.username.isEmpty ? nil : server.username,
                    credential: server.credential.isEmpty ? nil : server.credential)
            }
        }.filter { (try? $0.check()) != nil }
    }

    /// Called once, before anything else.
    func start() async {
        // Made before the first offer, which carries them.
        let once = DataChannelInit(ordered: false, maxRetransmits: 0)
        for (label, options) in [(DataLabel.reliable, DataChannelInit()), (.lossy, once), (.tracks, once)] {
            guard let channel = try? await publisher.createDataChannel(label.rawValue, options) else { continue }
            channels[label] = channel
            if label == .tracks { await channel.setBufferedAmountLowThreshold(Self.frameThreshold) }
            tasks.append(
                Task { [report] in
                    guard (try? await channel.waitUntilOpen()) != nil, !Task.isCancelled else { return }
                    await report(.channelOpen(label, id: channel.id ?? 0))
                })
            // A server of clients with one connection answers on the same channel.
            listen(to: channel, label)
        }
        for (target, connection) in [(SignalTarget.publisher, publisher), (.subscriber, subscriber)] {
            let events = connection.events
            tasks.append(Task { [weak self] in for await event in events { await self?.happened(event, target) } })
        }
        let targets = publisher.targetBitrates
        tasks.append(Task { [weak self] in for await target in targets { await self?.targetChanged(target) } })
        let (commands, reliable, lossy, frames) = (commandStream, reliableStream, lossyStream, frameStream)
        tasks.append(Task { [weak self] in for await command in commands { await self?.perform(command) } })
        tasks.append(Task { [weak self] in for await bytes in reliable { await self?.sendReliable(bytes) } })
        tasks.append(Task { [weak self] in for await bytes in lossy { await self?.send(bytes, .lossy) } })
        tasks.append(Task { [weak self] in for await packets in frames { await self?.send(frame: packets) } })
    }

    nonisolated func enqueue(_ command: MediaCommand) { commands.yield(command) }

    nonisolated func enqueue(_ bytes: [UInt8], _ label: DataLabel) {
        switch label {
        case .reliable:
            queuedBytes.wrappingAdd(bytes.count, ordering: .relaxed)
            reliable.yield(bytes)
        case .lossy: lossy.yield(bytes)
        case .tracks: enqueue(frame: [bytes])
        }
    }

    nonisolated func enqueue(frame packets: [[UInt8]]) { frames.yield(packets) }

    /// Back when not too many reliable messages wait for their channel, when it is over, or the task is cancelled.
    func waitForRoom() async {
        while !isClosed, !Task.isCancelled, queuedBytes.load(ordering: .relaxed) > Self.queueLimit {
            nextWaiter += 1
            let number = nextWaiter
            await withTaskCancellationHandler {
                await withCheckedContinuation { waiters[number] = $0 }
            } onCancel: {
                Task { await self.resumeWaiter(number) }
            }
        }
    }

    private func resumeWaiter(_ number: Int) { waiters.removeValue(forKey: number)?.resume() }

    private func resumeWaiters() {
        let resumed = waiters.values
        waiters = [:]
        for waiter in resumed { waiter.resume() }
    }

    /// Ends both connections, with a goodbye to the server.
    func close() async {
        isClosed = true
        commands.finish()
        reliable.finish()
        lossy.finish()
        frames.finish()
        resumeWaiters()
        for task in tasks { task.cancel() }
        tasks = []
        await publisher.close()
        await subscriber.close()
    }

    func sender(of track: LocalTrackID) -> RTPSender? { senders[track]?.transceiver.sender }

    /// The most that the encoder of a track is to make; nil: nothing is said of it, whatever was of a track before.
    func limitBitrate(of track: LocalTrackID, to maximum: Bitrate?) async {
        guard let transceiver = senders[track]?.transceiver else { return }
        var limits: SenderBitrateLimits = transceiver.kind == .video ? .video : .audio
        if let maximum {
            limits.maximum = maximum
            limits.minimum = min(limits.minimum, maximum)
        }
        // A connection that is over has no bitrates.
        try? await publisher.setBitrateLimits(limits, of: transceiver)
    }

    func receiver(of transceiver: TransceiverID) -> RTPReceiver? { receivers[transceiver]?.receiver }

    func requestKeyFrame(on transceiver: TransceiverID) async {
        if let receiver = receivers[transceiver] { await subscriber.requestKeyFrame(on: receiver) }
    }

    func stats(_ target: SignalTarget) async -> StatsReport {
        switch target {
        case .publisher: await publisher.getStats()
        case .subscriber: await subscriber.getStats()
        }
    }

    // MARK: Commands

    private func perform(_ command: MediaCommand) async {
        guard !isClosed else { return }
        switch command {
        case .makeOffer(let id, let iceRestart):
            await trying(.publisher) { () async throws(PeerConnectionError) in
                let offer = try await self.publisher.createOffer(iceRestart: iceRestart)
                let described = try await self.publisher.setLocalDescription(offer)
                await self.report(.offerMade(id: id, sdp: described.sdp))
            }
        case .takeAnswer(let sdp):
            await trying(.publisher) { () async throws(PeerConnectionError) in
                try await self.publisher.setRemoteDescription(SessionDescriptionInit(type: .answer, sdp: sdp))
                await self.addEarlyCandidates(.publisher)
                await self.report(.answerTaken)
            }
        case .takeOffer(let id, let sdp):
            await trying(.subscriber) { () async throws(PeerConnectionError) in
                try await self.subscriber.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: sdp))
                await self.addEarlyCandidates(.subscriber)
                let described = try await self.subscriber.setLocalDescription()
                await self.report(.answerMade(id: id, sdp: described.sdp))
                await self.reportStreams()
            }
        case .addCandidate(let target, let json): await addCandidate(target, json)
        case .useServers(let servers):
            let usable = Self.usable(servers)
            for connection in [publisher, subscriber] { try? await connection.setICEServers(usable) }
        case .addTrack(let id, let format, let encodings):
            do throws(PeerConnectionError) {
                try await addTrack(id, format, encodings)
            } catch {
                if !isClosed { await report(.trackRefused(id, "\(error)")) }
            }
        case .removeTrack(let id):
            guard let sending = senders.removeValue(forKey: id) else { return }
            try? await publisher.setDirection(.inactive, of: sending.transceiver)
            idle.append(sending)
        }
    }

    private func trying(
        _ target: SignalTarget, _ work: () async throws(PeerConnectionError) -> Void
    ) async {
        do throws(PeerConnectionError) {
            try await work()
        } catch {
            if !isClosed { await report(.failed(target, "\(error)")) }
        }
    }

    private func addTrack(
        _ id: LocalTrackID, _ format: PayloadFormat, _ encodings: [SendEncoding]
    ) async throws(PeerConnectionError) {
        let kind: MediaKind = format.isVideo ? .video : .audio
        // What was encoded already can be sent as nothing else.
        let codecs = (Self.audioCodecs + Self.videoCodecs).filter { $0.payloadFormat == format }
        guard !codecs.isEmpty else { return await report(.trackRefused(id, "\(format.codecName) is not sent")) }
        let transceiver = try await makeSender(kind, encodings)
        try await publisher.setCodecPreferences(codecs, of: transceiver)
        senders[id] = Sending(transceiver: transceiver, encodings: encodings)
        let name = await publisher.trackID(of: transceiver) ?? ""
        await report(.trackAdded(id, cid: name))
    }

    private func makeSender(
        _ kind: MediaKind, _ encodings: [SendEncoding]
    ) async throws(PeerConnectionError) -> RTPTransceiver {
        for (place, former) in idle.enumerated()
        where former.transceiver.kind == kind && former.encodings == encodings {
            guard try await publisher.sendAnother(on: former.transceiver) else { continue }
            idle.remove(at: place)
            // Of the track before, nobody may have wanted them.
            for encoding in encodings {
                try await former.transceiver.sender.setLayer(encoding.rid, isActive: true)
            }
            return former.transceiver
        }
        return try await publisher.addTransceiver(kind, direction: .sendonly, sendEncodings: encodings)
    }

    private func addCandidate(_ target: SignalTarget, _ json: String) async {
        guard let candidate = try? JSONDecoder().decode(ICECandidateInit.self, from: Data(json.utf8)) else { return }
        if let count = early[target]?.count {
            if count < Self.earlyLimit { early[target]?.append(candidate) }
            return
        }
        // One that does not fit is none; another may.
        try? await connection(target).addICECandidate(candidate)
    }

    private func addEarlyCandidates(_ target: SignalTarget) async {
        for candidate in early.removeValue(forKey: target) ?? [] {
            try? await connection(target).addICECandidate(candidate)
        }
    }

    private func connection(_ target: SignalTarget) -> PeerConnection {
        switch target {
        case .publisher: publisher
        case .subscriber: subscriber
        }
    }

    private func reportStreams() async {
        var streams: [RemoteStream] = []
        for transceiver in await subscriber.transceivers {
            guard await subscriber.currentDirection(of: transceiver)?.receives == true else { continue }
            receivers[transceiver.id] = transceiver
            let track = await subscriber.remoteTrackID(of: transceiver) ?? ""
            for stream in await subscriber.remoteStreams(of: transceiver) {
                streams.append(RemoteStream(stream: stream, track: track, transceiver: transceiver.id))
            }
        }
        await report(.receiving(streams))
    }

    private func sendReliable(_ bytes: [UInt8]) async {
        await send(bytes, .reliable)
        queuedBytes.wrappingSubtract(bytes.count, ordering: .relaxed)
        if queuedBytes.load(ordering: .relaxed) <= Self.queueLimit / 2 { resumeWaiters() }
    }

    private func send(_ bytes: [UInt8], _ label: DataLabel) async {
        guard let channel = channels[label] else { return }
        while !isClosed {
            do throws(DataChannelError) {
                return try await channel.send(bytes)
            } catch .bufferFull {
                // A lossy message is for now; a reliable one waits its turn.
                guard label == .reliable, (try? await channel.waitForBufferedAmountLow()) != nil else { return }
            } catch {
                return
            }
        }
    }

    /// Those that come meanwhile wait, and the oldest of them go.
    private func send(frame packets: [[UInt8]]) async {
        guard let channel = channels[.tracks], (try? await channel.waitForBufferedAmountLow()) != nil else { return }
        for packet in packets {
            // Without it the others are of no use.
            guard !isClosed, (try? await channel.send(packet)) != nil else { return }
        }
    }

    // MARK: Events

    private func happened(_ event: PeerConnectionEvent, _ target: SignalTarget) async {
        guard !isClosed else { return }
        switch event {
        case .iceCandidate(let candidate):
            guard let json = Self.json(candidate) else { return }
            await report(.candidate(target, json: json, isLast: candidate.candidate.isEmpty))
        case .connectionStateChange(let state, _): await report(.stateChanged(target, state))
        case .keyFrameRequested(let transceiver):
            guard let track = senders.first(where: { $0.value.transceiver == transceiver })?.key else { return }
            await tell(.keyFrameRequested, track)
        case .dataChannel(let channel):
            guard let label = DataLabel(rawValue: channel.label) else { return }
            listen(to: channel, label)
            if target == .subscriber, let id = channel.id { await report(.channelReceived(label, id: id)) }
        case .negotiationNeeded, .iceCandidateError, .signalingStateChange, .iceConnectionStateChange,
            .iceGatheringStateChange, .track, .trackEnded:
            break
        }
    }

    private func targetChanged(_ target: TargetBitrate) async {
        guard !isClosed else { return }
        for (track, sending) in senders {
            if let bitrate = target[sending.transceiver.id] { await tell(.targetBitrateChanged(bitrate), track) }
        }
    }

    private func listen(to channel: DataChannel, _ label: DataLabel) {
        tasks.append(
            Task { [report, waitForListeners] in
                for await message in channel.messages {
                    // A text is nothing that LiveKit sends.
                    guard case .binary(let bytes) = message else { continue }
                    // What is not taken out of the channel closes its window, and its sender waits.
                    if label == .reliable { await waitForListeners() }
                    await report(.message(label, bytes))
                }
            })
    }

    /// With all three members: SDKs and servers read strictly.
    private static func json(_ candidate: ICECandidateInit) -> String? {
        struct Strict: Encodable {
            let candidate: String
            let sdpMid: String
            let sdpMLineIndex: Int
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let strict = Strict(
            candidate: candidate.candidate, sdpMid: candidate.sdpMid ?? "0",
            sdpMLineIndex: candidate.sdpMLineIndex ?? 0)
        return (try? encoder.encode(strict)).map { String(decoding: $0, as: UTF8.self) }
    }
}
