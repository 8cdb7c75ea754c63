internal import LiveKitProtocol
internal import RTCEngine

/// A participant of a room by LiveKit's protocol, without sockets and clock: what the server says, what the peer
/// connections do and what time it is go in; requests, commands to the peer connections and events come out of
/// `pollOutput()`. It has two peer connections, as every LiveKit server knows them: in one it offers what it publishes,
/// in the other the server offers what there is to receive.
struct RoomClientMachine {
    /// What a connection is made for.
    enum Purpose: Equatable {
        case join
        /// The same session goes on, its media too.
        case resume(LiveKitReconnectReason)
        /// A new session, for the server does not have the old one any more.
        case rejoin
    }

    enum Phase: Equatable {
        case idle
        /// The WebSocket is being opened, or is open and the server's first message is awaited.
        case signaling(Purpose, until: Instant)
        /// We are in the room, and paths for media are looked for.
        case connecting(Purpose, until: Instant)
        case connected
        /// The connection is lost, and the next attempt is made at `until`.
        case waiting(Purpose, until: Instant)
        case disconnected(DisconnectReason)

        /// The session is lost for good, and the server has not begun the next one, for which what is asked now waits.
        var isWithoutSession: Bool {
            switch self {
            case .signaling(let purpose, _), .waiting(let purpose, _): purpose == .rejoin
            case .idle, .connecting, .connected, .disconnected: false
            }
        }
    }

    /// How long the WebSocket may take to open. It gives up before that, after ten seconds, and says why.
    static let openTimeout = Interval.seconds(Int64(11))
    /// How long we wait for the server's first message, and then for media: as LiveKit's SDKs do.
    static let signalTimeout = Interval.seconds(Int64(7))
    static let mediaTimeout = Interval.seconds(Int64(15))
    /// How long the server may take to answer a request or an offer.
    static let answerTimeout = Interval.seconds(Int64(10))
    /// How many requests may wait for the connection to come back; more are dropped.
    private static let heldLimit = 1_024
    /// How many messages may come before `reconnect`; more are dropped.
    private static let earlyLimit = 256

    let options: Options
    private(set) var phase = Phase.idle
    /// The token that we joined with, or the newest that the server has given us since.
    var token = ""
    /// How many attempts to come back have failed in a row.
    var attempt = 0
    /// When the connection was made that there is, or was last; and how many in a row did not last (`steadyTime`).
    var connectedAt = Instant.zero
    var shortConnections = 0

    /// How many sessions were lost for good: what is begun in one does not go on in the next.
    private(set) var sessionNumber = 0

    /// What the last `join` has told of the session.
    var session = Session()
    var roster = Roster()
    var publishing = Publishing()
    var negotiation = Negotiation()
    var subscribing = Subscribing()
    var dataPublishing = DataPublishing()
    var dataSubscribing = DataSubscribing()
    var data = DataQueue()
    var calls = RPCCalls()
    var incoming = IncomingStreams()
    var pings = Pings()
    /// Requests of the application that are not decided yet.
    var requests = PendingRequests()

    private var random: EngineRandom
    /// Requests to the server that wait until it hears us again.
    private var held: [LiveKitSignalRequest.OneOf_Message] = []
    /// What the server has told of a session before it said that it goes on.
    private var early: [LiveKitSignalResponse.OneOf_Message] = []
    private var outputs: [Output] = []
    private var nextOutput = 0

    /// What does not change while the machine lives.
    struct Options {
        var autoSubscribe = true
        /// Pictures that nobody takes are not sent.
        var dynacast = false
        var attributes: [String: String] = [:]
        /// What messages and tracks are encrypted with.
        var encryption: KeyProvider?
        var acceptsPlain = false
        var version = "0"
        var operatingSystem = ""
        /// Milliseconds since 1970, by the clock on the wall; what is sent is stamped with it.
        var wallClock: @Sendable () -> Int64 = { 0 }
    }

    /// What the server said of the connection when it let us in.
    struct Session {
        var sid = ""
        var roomSID = ""
        var roomName = ""
        var roomMetadata = ""
        var isSubscriberPrimary = false
        /// The bytes at the end of frames that the server makes itself, which are not encrypted.
        var serverTrailer: [UInt8] = []
    }

    init(options: Options, random: EngineRandom) {
        self.options = options
        self.random = random
    }

    // MARK: Outputs

    /// What is to be done, in this order.
    enum Output {
        /// Opens a WebSocket in place of any that there is.
        case openSignal(SignalPath)
        case closeSignal
        case send(LiveKitSignalRequest.OneOf_Message)
        /// Makes both peer connections in place of those that there are.
        case openMedia([LiveKitICEServer])
        case closeMedia
        case media(MediaCommand)
        /// A message for one of the data channels.
        case sendData(DataLabel, [UInt8])
        /// All packets of one frame of a data track, for the channel of data tracks.
        case sendFrame([[UInt8]])
        case tell(RoomEvent)
        /// The track of ours is to be sent up to this quality, or with nil not at all.
        case wanted(LocalTrackID, VideoQuality?)
        case subscribed(TrackSID)
        case unsubscribed(TrackSID)
        /// The data track of ours with this handle now has this sid, or with nil is over.
        case localDataTrack(UInt16, TrackSID?)
        /// A frame has come on a data track.
        case dataFrame(RemoteDataTrackID, DataTrackFrame)
        /// No more frames of it come.
        case endDataStreams(RemoteDataTrackID)
        /// A stream of somebody's that is read here has begun.
        case streamBegan(IncomingStreamID, IncomingStreamHeader)
        /// The next chunk of it.
        case streamWentOn(IncomingStreamID, [UInt8])
        case streamEnded(IncomingStreamID, IncomingStreamEnd)
        /// A method of ours is called.
        case invoke(RPCInvocation)
        /// Nobody waits any more for the answer of a method of ours.
        case abandon(String)
        case complete(RequestID, Result<Completion, RoomError>)
        case completeCall(RequestID, Result<String, RPCError>)
    }

    /// What a request came to.
    enum Completion: Equatable {
        case done
        case published(TrackSID)
    }

    mutating func put(_ output: Output) { outputs.append(output) }

    /// The next thing to do; nil when there is nothing.
    mutating func pollOutput() -> Output? {
        guard nextOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            nextOutput = 0
            return nil
        }
        defer { nextOutput += 1 }
        return outputs[nextOutput]
    }

    /// A random name, which nobody else can guess or has by chance.
    mutating func makeID(_ prefix: String) -> String {
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz")
        return prefix + String((0..<12).map { _ in digits[Int(random.next() % 36)] })
    }

    /// Milliseconds since 1970, for the time stamps of what is sent.
    func wallClock() -> Int64 { options.wallClock() }

    /// A random first value for the time stamps of a track.
    mutating func makeTimestamp() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }

    // MARK: State

    var connectionState: ConnectionState {
        switch phase {
        case .idle, .disconnected: .disconnected
        case .signaling(.join, _), .connecting(.join, _), .waiting(.join, _): .connecting
        case .connected: .connected
        case .signaling, .connecting, .waiting: .reconnecting
        }
    }

    /// Whether requests can be sent: the signaling connection is there, and the server has let us in over it.
    var isSignalOpen: Bool {
        switch phase {
        case .connecting, .connected: true
        case .idle, .signaling, .waiting, .disconnected: false
        }
    }

    /// Whether we are in the room, or on the way back into it.
    var isInRoom: Bool {
        switch phase {
        case .connected, .connecting: true
        case .signaling(let purpose, _), .waiting(let purpose, _): purpose != .join
        case .idle, .disconnected: false
        }
    }

    mutating func move(to next: Phase) {
        if case .disconnected = next {
            sessionReplaced()
        } else if next.isWithoutSession, !phase.isWithoutSession {
            sessionReplaced()
        }
        phase = next
    }

    /// There is another session, or none. Streams of data that were begun in the old one cannot go on in it.
    mutating func sessionReplaced() {
        sessionNumber += 1
        data.dropStreams()
    }

    /// Sends a request now, or when the connection is back.
    mutating func say(_ request: LiveKitSignalRequest.OneOf_Message) {
        guard isSignalOpen else {
            if held.count < Self.heldLimit { held.append(request) }
            return
        }
        put(.send(request))
    }

    /// Sends a request now, or not at all: it would be wrong on a later connection.
    mutating func sayNow(_ request: LiveKitSignalRequest.OneOf_Message) {
        if isSignalOpen { put(.send(request)) }
    }

    mutating func sayHeld() {
        for request in held { put(.send(request)) }
        held = []
    }

    mutating func forgetHeld() { held = [] }

    /// Keeps what the server tells before it says that the session goes on: some of it, as that a track was published,
    /// it says once only. An answer is to an offer of the connection that was lost, and another one is made now.
    mutating func keepEarly(_ response: LiveKitSignalResponse.OneOf_Message) {
        if case .answer = response { return }
        if early.count < Self.earlyLimit { early.append(response) }
    }

    mutating func takeEarly() -> [LiveKitSignalResponse.OneOf_Message] {
        defer { early = [] }
        return early
    }

    // MARK: Time

    /// When `tick` is to be called; nil when nothing waits for time.
    var nextWake: Instant? {
        var times: [Instant?] = [pings.next(isSignalOpen), publishing.deadline, requests.deadline, calls.deadline]
        times += [dataPublishing.deadline, dataSubscribing.deadline, negotiation.goodbyeUntil]
        // An answer can only come while the server hears us.
        if isSignalOpen { times.append(negotiation.deadline) }
        switch phase {
        case .signaling(_, let until), .connecting(_, let until), .waiting(_, let until): times.append(until)
        case .idle, .connected, .disconnected: break
        }
        return times.compactMap { $0 }.min()
    }

    /// Time has passed.
    mutating func tick(at now: Instant) {
        phaseTimePassed(at: now)
        ping(at: now)
        negotiationTimePassed(at: now)
        publishingTimePassed(at: now)
        dataPublishingTimePassed(at: now)
        dataSubscribingTimePassed(at: now)
        requestTimePassed(at: now)
        callTimePassed(at: now)
    }
}

/// Names something that was asked of the machine until it is decided.
struct RequestID: Hashable, Sendable {
    let rawValue: UInt64
}
