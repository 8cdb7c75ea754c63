public import RTCEngine
internal import RTCWire
internal import Synchronization

/// A WebRTC peer connection (W3C: RTCPeerConnection) over UDP sockets of this host, and over TCP if that is wanted.
///
/// An actor on its `NetworkLoop`: calls are jobs on the loop's thread, and packets are handled there without a hop.
/// It may be closed at any moment, from anywhere, also in the middle of another call; whatever comes later is refused
/// with `.closed` or does nothing.
///
/// ```swift
/// import RTCNetwork
/// import RTCEngine                                             // to name frames, codecs, directions and states
///
/// let connection = try PeerConnection()
/// let video = try await connection.addTransceiver(.video)
/// let offer = try await connection.createOffer()
/// try await connection.setLocalDescription(offer)              // opens sockets and begins to gather candidates
/// // Send `offer` to the peer by your own signaling. Hand in what comes back:
/// try await connection.setRemoteDescription(answer)
/// try await connection.addICECandidate(candidate)
/// try await video.sender.send(frame)                           // nothing happens until it is `.connected`
/// for await event in connection.events { … }                   // until the end; each `.iceCandidate` is for the peer
/// ```
/// Who answers calls `setRemoteDescription(offer)`, `addTrack` for what it wants to send, and then
/// `setLocalDescription()`, which makes the answer.
public actor PeerConnection {
    /// The thread that this connection lives on.
    nonisolated public let loop: NetworkLoop
    /// What makes calls from elsewhere run on the loop's thread.
    nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// What holds: as the connection was made, with what `setConfiguration` has changed since (W3C: getConfiguration).
    public internal(set) var configuration: PeerConnectionConfiguration
    nonisolated let eventBroadcast = EventBroadcast<PeerConnectionEvent>(backlog: 2_048)
    /// A listener that comes late gets the latest value only.
    nonisolated let bitrateBroadcast = EventBroadcast<TargetBitrate>(backlog: 1)

    var machine: PeerMachine
    var receivers: [TransceiverID: RTPReceiver] = [:]
    /// The channels that are not closed.
    var channels: [DataChannelID: DataChannel] = [:]
    nonisolated let unreadData = UnreadData()
    /// Where `RTPSender.enqueue` puts frames.
    nonisolated let frameOutbox = FrameOutbox()
    /// How much of `unreadData` the machine has been told.
    var toldUnread = 0
    /// Where channels put what is to be sent; nil before the first one.
    var outbox: DataChannelOutbox?
    /// What was taken from there and has found no room yet, oldest first.
    var queuedData: [DataChannelOutbox.Entry] = []
    /// Inboxes with new messages of which the readers have not been told yet.
    var filledInboxes: [DataChannelInbox] = []
    var gathering = Gathering.notStarted
    var sockets: [BoundSocket] = []
    /// Those that are in use, with what is known of their names.
    var askedServers: [Server] = []
    var knownAddresses: [STUNServerURL: [TransportAddress]] = [:]
    /// How often there were others.
    var serverGeneration = 0
    /// Names that are being looked up.
    var unresolved: Set<STUNServerURL> = []
    /// TCP connections, if the configuration wants them.
    var tcpConnections: PeerTCPConnections?
    /// Looks up the peer's mDNS names, once one has come.
    var names: MDNSResolver?
    /// The host's addresses when they were last looked at.
    var listedAddresses: Set<IPAddress> = []
    /// TCP and TLS connections to TURN servers.
    var relayStreams: [RelayStreamID: RelayStream] = [:]
    lazy var link = LoopLink(self)
    /// Over; for those who may not wait for the actor to tell them.
    nonisolated let isOver = Atomic(false)

    /// Whether sockets have been opened; they are when the first local description is set.
    enum Gathering: Equatable {
        case notStarted, started, closed
    }

    /// - Parameters:
    ///   - configuration: servers, addresses, codecs and the certificate.
    ///   - loop: the thread to live on; connections that talk to each other much may share one.
    public init(configuration: PeerConnectionConfiguration, loop: NetworkLoop = .shared) {
        self.configuration = configuration
        self.loop = loop
        self.machine = PeerMachine(
            configuration: PeerMachineConfiguration(configuration), security: configuration.security, random: .system)
    }

    /// With the default configuration.
    public init(loop: NetworkLoop = .shared) throws(PeerConnectionError) {
        self.init(configuration: try PeerConnectionConfiguration(), loop: loop)
    }

    // Not an `isolated deinit`: the optimizer of Swift 6.3 fails on one in another module ("circular reference"). What
    // is left to do needs no isolation: the sockets close with their objects, and the link takes itself off the loop.
    deinit {
        eventBroadcast.finish()
        bitrateBroadcast.finish()
        for receiver in receivers.values { receiver.finish() }
        for channel in channels.values { channel.end(.connectionClosed) }
    }

    /// What happens, from now on, in order; each access is a stream of its own, and the first one begins with what came
    /// before it. It ends when the connection is closed.
    nonisolated public var events: AsyncStream<PeerConnectionEvent> { eventBroadcast.stream() }

    /// Where the exchange of descriptions stands.
    public var signalingState: SignalingState { machine.signalingState }
    /// Whether a path to the peer has been found and still carries.
    public var iceConnectionState: ICEConnectionState { machine.iceConnectionState }
    /// Whether all our candidates are known.
    public var iceGatheringState: ICEGatheringState { machine.iceGatheringState }
    /// ICE and DTLS together: media flows while this is `.connected`.
    public var connectionState: PeerConnectionState { machine.connectionState }

    /// Ends the connection: says goodbye to the peer (RTCP BYE, DTLS close_notify), closes the sockets and ends all
    /// streams. Safe to call twice. The peer's goodbye does the same here.
    public func close() {
        takeQueuedData()
        machine.close(at: NetworkLoop.now)
        flush()
    }

    // MARK: After every entry

    /// Tells what has happened, sends what the machine wants sent, and asks to be woken.
    func flush() {
        tellSendLimits()
        repeat { drain() } while performRelayCommands()
        if machine.connectionState == .closed {
            end()
        } else if let wake = machine.nextWake {
            loop.schedule(link.timer, at: wake)
        }
    }

    private func drain() {
        // Events first: a frame that nobody takes makes us ask the peer for a key frame.
        while let event = machine.pollEvent() { publish(event) }
        tellReaders()
        noteUnreadData()
        while let event = machine.pollEvent() { publish(event) }
        tellReaders()
        while let transmit = machine.pollTransmit() {
            if let stream = transmit.stream {
                relayStreams[stream]?.send(transmit.bytes, after: transmit.channel)
            } else if let index = sockets.firstIndex(where: { $0.socket.address == transmit.from }) {
                sockets[index].outgoing.append(transmit.bytes, after: transmit.channel, to: transmit.to)
                if sockets[index].outgoing.isFull { sockets[index].flush() }
            } else {
                tcpConnections?.send(transmit.bytes, from: transmit.from, to: transmit.to)
            }
            machine.recycle(transmit)
        }
        for index in sockets.indices { sockets[index].flush() }
    }

    /// The machine is closed and its last words are out.
    private func end() {
        guard gathering != .closed else { return }
        gathering = .closed
        isOver.store(true, ordering: .relaxed)
        for bound in sockets { bound.socket.close() }
        sockets = []
        tcpConnections?.close()
        names?.close()
        for stream in relayStreams.values { stream.close() }
        relayStreams = [:]
        link.leave()
        eventBroadcast.finish()
        bitrateBroadcast.finish()
        for receiver in receivers.values { receiver.finish() }
        for channel in channels.values { channel.end(.connectionClosed) }
        channels = [:]
        queuedData = []
        outbox?.removeAll()
    }

    private func publish(_ event: PeerEvent) {
        switch event {
        case .frame(let id, let frame):
            if receivers[id]?.frameBroadcast.send(frame) == true {
                machine.requestKeyFrame(on: id, at: NetworkLoop.now)
            }
        case .tone(let id, let tone):
            receivers[id]?.toneSource.yield(tone)
        case .dataChannel(let id, let event):
            publish(event, of: id)
        case .negotiationNeeded:
            eventBroadcast.send(.negotiationNeeded)
        case .localCandidate(let candidate, let mid, let mLineIndex):
            eventBroadcast.send(
                .iceCandidate(
                    ICECandidateInit(
                        candidate: candidate.attribute, sdpMid: mid, sdpMLineIndex: mLineIndex,
                        usernameFragment: candidate.usernameFragment)))
        case .endOfLocalCandidates(let place):
            eventBroadcast.send(
                .iceCandidate(
                    ICECandidateInit(
                        candidate: "", sdpMid: place.mid, sdpMLineIndex: place.mLineIndex,
                        usernameFragment: place.usernameFragment)))
        case .nameToResolve(let name):
            resolve(name: name)
        case .signalingStateChanged(let state):
            eventBroadcast.send(.signalingStateChange(state))
        case .iceCandidateError(let error):
            eventBroadcast.send(.iceCandidateError(named(error)))
        case .iceConnectionStateChanged(let state, let because):
            eventBroadcast.send(.iceConnectionStateChange(state, because: because))
        case .iceGatheringStateChanged(let state):
            eventBroadcast.send(.iceGatheringStateChange(state))
        case .connectionStateChanged(let state, let because):
            eventBroadcast.send(.connectionStateChange(state, because: because))
        case .trackAdded(let id):
            if let transceiver = transceiver(id) { eventBroadcast.send(.track(transceiver)) }
        case .trackRemoved(let id):
            if let transceiver = transceiver(id) { eventBroadcast.send(.trackEnded(transceiver)) }
        case .keyFrameRequested(let id):
            if let transceiver = transceiver(id) { eventBroadcast.send(.keyFrameRequested(transceiver)) }
        case .targetBitrateChanged(let target):
            bitrateBroadcast.send(target)
        // Frames go out here: their packets are repeated by the machine.
        case .packetRequested:
            return
        }
    }

    // MARK: From the loop

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        guard let bound = sockets.first(where: { $0.token == token }) else { return relayStreamReady(token) }
        // What was sent before comes first: what the peer sends may be its goodbye to a channel.
        takeQueuedData()
        let now = NetworkLoop.now
        let local = bound.socket.address
        let sent = machine.datagramsSent
        var count = 0
        machine.beginBatch()
        let mayBeMore = batch.receive(from: bound.socket) { datagram, sender in
            count += 1
            machine.receive(&datagram, from: sender, to: local, at: now)
            handOutPacket(&datagram)
        }
        machine.endBatch(at: now)
        flush()
        if machine.datagramsSent == sent {
            loop.noteUnanswered(count, mayBeMore: mayBeMore, isAmidPicture: machine.isAmidPicture)
        }
    }

    func timerFired(at now: Instant) {
        machine.tick(at: now)
        flush()
    }

    func open(_ address: IPAddress) throws(SystemError) {
        let socket = try UDPSocket(binding: TransportAddress(address, port: 0))
        let token = try loop.add(socket, reader: link)
        link.add(token)
        sockets.append(BoundSocket(socket: socket, token: token))
    }
}

/// A socket of a connection, with what waits to be sent on it.
struct BoundSocket {
    let socket: UDPSocket
    let token: UInt64
    var outgoing = SendBatch()

    mutating func flush() { outgoing.flush(on: socket) }
}
