internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import RTCNetwork
internal import SocketIO
internal import SwiftProtobuf
internal import Synchronization

/// A room of LiveKit's protocol, as a participant: for bots, recorders and tests, on a server of any make.
///
/// ```swift
/// let room = Room()
/// try await room.connect(url: "wss://meet.example.org", token: token)
/// for await event in room.events {                             // from the first one on
///     guard case .trackSubscribed(let track) = event else { continue }
///     Task { for await frame in track.frames { … } }
/// }
/// ```
/// It comes back by itself when the connection is lost: `reconnecting`, then `reconnected`, or `disconnected` when it
/// could not.
public actor Room {
    var machine: RoomClientMachine
    let options: ConnectOptions
    nonisolated let broadcast = RoomEventBroadcast()
    /// Our present identity, for code that encrypts on other threads.
    nonisolated let ownIdentity = OwnIdentity()
    /// How often a session was begun.
    private var attempts = 0
    var url = ""

    var socket: (any SignalChannel)?
    /// Brings what it tells, in order. A socket that we close tells nothing more, so its listener is ended here.
    var socketFacts: AsyncStream<BinarySocket.Fact>.Continuation?
    var media: MediaConnections?
    /// Count the sockets and the peer connections, so that what comes from earlier ones is ignored.
    var socketGeneration = 0
    var mediaGeneration = 0

    var lastRequest: UInt64 = 0
    var lastTrack: UInt32 = 0
    var waiting: [RequestID: CheckedContinuation<Result<RoomClientMachine.Completion, RoomError>, Never>] = [:]
    var callers: [RequestID: CheckedContinuation<Result<String, RPCError>, Never>] = [:]
    var methods: [String: RPCHandler] = [:]
    /// Methods of ours that are at work, by request.
    var invocations: [String: Task<Void, Never>] = [:]
    var textStreamHandlers: [String: TextStreamHandler] = [:]
    var byteStreamHandlers: [String: ByteStreamHandler] = [:]
    /// They wait until not too much waits for a channel.
    var channelWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var lastChannelWaiter: UInt64 = 0
    /// Streams of others' that go on.
    var inboxes: [IncomingStreamID: DataStreamInbox] = [:]
    var publications: [LocalTrackID: LocalTrackPublication] = [:]
    var tracks: [TrackSID: RemoteTrack] = [:]
    /// By what our packets call them.
    var dataPublications: [UInt16: LocalDataTrack] = [:]
    /// The streams that take the frames of a data track, by number.
    var dataStreams: [RemoteDataTrackID: [Int: AsyncStream<DataTrackFrame>.Continuation]] = [:]
    var lastDataStream = 0
    var timer = WakeTimer()
    var isApplying = false
    /// They wait until what the machine wants is done.
    var applied: [CheckedContinuation<Void, Never>] = []

    /// A method that others may call: takes the call, gives the answer. An `RPCError` goes to the caller as it is.
    /// It is cancelled when its caller waits no longer, and when the room is left.
    public typealias RPCHandler = @Sendable (RPCInvocation) async throws -> String

    public init(options: ConnectOptions = ConnectOptions()) {
        self.options = options
        var told = RoomClientMachine.Options()
        told.autoSubscribe = options.autoSubscribe
        told.dynacast = options.dynacast
        told.attributes = options.attributes
        told.encryption = options.encryption
        told.acceptsPlain = options.acceptsPlain
        told.wallClock = { Int64(Date().timeIntervalSince1970 * 1_000) }
        #if os(Linux)
            told.operatingSystem = "linux"
        #elseif os(macOS)
            told.operatingSystem = "macos"
        #endif
        machine = RoomClientMachine(options: told, random: .system)
    }

    // A room that its user forgot leaves nothing behind: the socket and the peer connections close.
    deinit {
        timer.cancel()
        for task in invocations.values { task.cancel() }
        for inbox in inboxes.values { inbox.end(.failure(.disconnected)) }
        socket?.close()
        socketFacts?.finish()
        broadcast.finish()
        for publication in publications.values { publication.stop() }
        for track in dataPublications.values { track.changed(to: nil) }
        for streams in dataStreams.values {
            for stream in streams.values { stream.finish() }
        }
        // It holds the media alone, and is over when they are closed.
        if let media { Task { await media.close() } }
    }

    // MARK: State

    /// What happens, in order, from now on. Each access is a stream of its own. The first stream also has the events
    /// before it; of the messages among them, the last MiB. A stream ends when the room is left or lost, and with
    /// `disconnect()` even if the room was never joined. When the room is joined again, take a new stream after
    /// `connect` has returned: the first one then has the events since joining.
    ///
    /// A stream that is read slowly loses no reliable message: when 4 MiB wait for it, no more are read from the
    /// network, and their senders have to wait. So do not keep a stream that you do not read: it holds up all reliable
    /// messages, RPC calls and responses included, until the server disconnects us. Messages that are still in the
    /// network when the session ends are lost. Of lossy messages the last MiB waits for a stream, of other events the
    /// last 8,192.
    nonisolated public var events: AsyncStream<RoomEvent> { broadcast.stream() }

    /// Whether we are in the room now. `disconnected` before `connect`, and after the room was left or lost.
    public var connectionState: ConnectionState { machine.connectionState }
    /// The room's name, which the token says. Empty until the server has let us in for the first time; afterwards that
    /// of the last room, also when it was left.
    public var name: String { machine.session.roomName }
    /// What the server calls the room: `RM_…`. Some servers tell it a moment after joining; otherwise as `name`.
    public var sid: String { machine.session.roomSID }
    /// The room's metadata, as the server has told of it last (`RoomEvent.roomMetadataChanged`); otherwise as `name`.
    public var metadata: String { machine.session.roomMetadata }
    /// Us, as the server has told of us last. Before the server has let us in for the first time, everything in it is
    /// empty, and nothing is allowed; after the room was left, it is as we were last.
    public var localParticipant: LocalParticipant { LocalParticipant(machine.roster.local) }
    /// Everybody else, by identity. Empty before `connect`; after the room was left, those who were there last.
    public var remoteParticipants: [ParticipantIdentity: RemoteParticipant] {
        Dictionary(
            machine.roster.remote.values.map { (ParticipantIdentity($0.identity), RemoteParticipant($0)) },
            uniquingKeysWith: { first, _ in first })
    }
    /// The tracks that are received now: from `RoomEvent.trackSubscribed` to `trackUnsubscribed`.
    public var remoteTracks: [TrackSID: RemoteTrack] { tracks }
    /// The token that we connected with, or the newest that the server has given us since. Empty before `connect`.
    public var token: String { machine.token }

    // MARK: Coming and going

    /// Joins the room that the token is for; back when media can flow. Cancelling the task gives the attempt up, as
    /// `disconnect()` does.
    ///
    /// - Parameter url: of the server: `ws://host:port`, `wss://host`, or the same with `http`; perhaps with a path,
    ///   but not with a query.
    /// - Throws: `invalidURL`; `refused` where the server does not let us in; `unreachable`, also when the WebSocket is
    ///   not open in 10 seconds; `timedOut` when the server's first message has not come in 7 seconds after that;
    ///   `media` when no path for media was found, in 15 seconds more at the latest;
    ///   `alreadyConnected` unless `connectionState` is `disconnected`; `disconnected` when the server sends us away,
    ///   or `disconnect()` is called, or the task cancelled, meanwhile.
    public func connect(url: String, token: String) async throws(RoomError) {
        try await connect(url: url, token: token) { false }
    }

    /// As above, unless it is too late when its turn comes.
    func connect(url: String, token: String, unless isOver: @Sendable () -> Bool) async throws(RoomError) {
        guard !isOver(), !Task.isCancelled else { throw .disconnected(.clientInitiated) }
        // A session that there is, which refuses another one, goes on where it is.
        let begins = machine.connectionState == .disconnected
        if begins {
            self.url = url
            // What the session before has to say last goes first, if it has not been said.
            if !isApplying { broadcast.begin() }
        }
        if begins { attempts += 1 }
        let attempt = attempts
        do throws(RoomError) {
            _ = try await request { machine, request, now in machine.connect(token: token, request: request, at: now) }
        } catch {
            guard error == .cancelled else { throw error }
            // Somebody may have left and joined anew by now.
            if begins, attempt == attempts { await disconnect() }
            throw .disconnected(.clientInitiated)
        }
    }

    /// Leaves the room; returns when the server was told and the connections are closed. A `connect` that is under way
    /// fails with `disconnected(.clientInitiated)`. Calling it again does nothing.
    public func disconnect() async {
        machine.leave()
        await apply()
        // Another task may be at it, and ours is in its queue.
        if isApplying { await withCheckedContinuation { applied.append($0) } }
        // Of a room that was not joined nothing is told that would end them. It may be joined anew by now.
        if machine.connectionState == .disconnected { broadcast.finish() }
    }

    /// Causes a fault, to test whether the application copes with it.
    public func simulate(_ scenario: SimulatedScenario) async {
        switch scenario {
        case .signalReconnect:
            // What a network does that drops the connection: the server is not told.
            socket?.close()
            machine.signalLost(.unreachable("it is simulated"), at: NetworkLoop.now)
        case .fullReconnect: machine.sayNow(.simulate(.with { $0.leaveRequestFullReconnect = true }))
        case .serverLeave: machine.sayNow(.simulate(.with { $0.serverLeave = true }))
        }
        await apply()
    }

    // MARK: The machine

    func nextRequest() -> RequestID {
        lastRequest += 1
        return RequestID(rawValue: lastRequest)
    }

    func request(
        _ ask: (inout RoomClientMachine, RequestID, Instant) -> Void
    ) async throws(RoomError) -> RoomClientMachine.Completion {
        guard !Task.isCancelled else { throw .cancelled }
        let id = nextRequest()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiting[id] = continuation
                ask(&machine, id, NetworkLoop.now)
                // The answer comes by the continuation, whoever carries the outputs out.
                Task { await self.apply() }
            }
        } onCancel: {
            Task { await self.waitNoLonger(for: id) }
        }
        return try result.get()
    }

    /// What was asked for may come about all the same, and nobody is told.
    private func waitNoLonger(for id: RequestID) {
        waiting.removeValue(forKey: id)?.resume(returning: .failure(.cancelled))
    }

    /// Carries out the machine's outputs, in their order. While one call does so, others return at once: it does
    /// theirs.
    func apply() async {
        guard !isApplying else { return }
        isApplying = true
        while true {
            // It may change while something is performed, and is known before what follows from that.
            ownIdentity.value.withLock { $0 = machine.roster.localIdentity }
            guard let output = machine.pollOutput() else { break }
            await perform(output)
        }
        isApplying = false
        for continuation in applied { continuation.resume() }
        applied = []
        resumeChannelWaiters()
        schedule()
    }

    func perform(_ output: RoomClientMachine.Output) async {
        switch output {
        case .openSignal(let path):
            broadcast.begin()
            openSignal(path)
        case .closeSignal: closeSignal()
        case .send(let message):
            let request = LiveKitSignalRequest.with { $0.message = message }
            if let bytes: [UInt8] = try? request.serializedBytes() { socket?.send(bytes) }
        case .openMedia(let servers): await openMedia(servers)
        case .closeMedia: await closeMedia()
        case .media(let command):
            // The track is withdrawn, by whichever side: stop playing its file.
            if case .removeTrack(let id) = command { publications.removeValue(forKey: id)?.stop() }
            media?.enqueue(command)
        case .sendData(let label, let bytes): media?.enqueue(bytes, label)
        case .sendFrame(let packets): media?.enqueue(frame: packets)
        case .tell(let event): await tell(event)
        case .wanted(let id, let quality): await wantedChanged(id, quality)
        case .subscribed(let sid): await subscribed(sid)
        case .unsubscribed(let sid):
            guard let track = tracks.removeValue(forKey: sid) else { return }
            track.end()
            broadcast.send(.trackUnsubscribed(track))
        case .localDataTrack(let handle, let sid):
            dataPublications[handle]?.changed(to: sid)
            if sid == nil { dataPublications[handle] = nil }
        case .dataFrame(let id, let frame):
            for stream in (dataStreams[id] ?? [:]).values { stream.yield(frame) }
        case .endDataStreams(let id):
            for stream in (dataStreams.removeValue(forKey: id) ?? [:]).values { stream.finish() }
        case .streamBegan(let id, let header): streamBegan(id, header)
        case .streamWentOn(let id, let chunk): inboxes[id]?.receive(chunk)
        case .streamEnded(let id, let end): inboxes.removeValue(forKey: id)?.end(end)
        case .invoke(let call): invoke(call)
        case .abandon(let requestID): invocations.removeValue(forKey: requestID)?.cancel()
        case .complete(let request, let result): waiting.removeValue(forKey: request)?.resume(returning: result)
        case .completeCall(let request, let result): callers.removeValue(forKey: request)?.resume(returning: result)
        }
    }

    func tell(_ event: RoomEvent) async {
        if case .localTrackPublished(let sid, _) = event { publication(sid)?.published(as: sid) }
        if case .localTrackMuted(let sid, let isMuted) = event, let publication = publication(sid) {
            await mutedChanged(publication, isMuted)
        }
        broadcast.send(event)
        if case .disconnected = event {
            for publication in publications.values { publication.stop() }
            publications = [:]
            for task in invocations.values { task.cancel() }
            invocations = [:]
            broadcast.finish()
        }
    }

    func publication(_ sid: TrackSID) -> LocalTrackPublication? {
        machine.publishing.place(of: sid).flatMap { publications[machine.publishing.tracks[$0].id] }
    }

    func schedule() {
        timer.set(to: machine.nextWake) { [weak self] in await self?.timePassed() }
    }

    func timePassed() async {
        timer.rang()
        machine.tick(at: NetworkLoop.now)
        await apply()
    }
}

/// Our identity, which the server may change. Written by the room, and read by code that encrypts frames.
final class OwnIdentity: Sendable {
    let value = Mutex(ParticipantIdentity(""))
}

/// A fault that a server can be asked for.
public enum SimulatedScenario: String, Sendable, CaseIterable {
    /// The signaling connection is lost; the session goes on.
    case signalReconnect = "signal_reconnect"
    /// The server wants a new session.
    case fullReconnect = "full_reconnect"
    /// The server sends us away.
    case serverLeave = "server_leave"
}
