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
        /// The WebSocket is opened, and the server's first message is awaited.
        case signaling(Purpose, until: Instant)
        /// We are in the room, and paths for media are looked for.
        case connecting(Purpose, until: Instant)
        case connected
        /// Until the next attempt.
        case waiting(Purpose, until: Instant)
        case disconnected(DisconnectReason)

        /// The session is lost for good, and the server has not begun another one. What is begun now waits for that.
        var isWithoutSession: Bool {
            switch self {
            case .signaling(let purpose, _), .waiting(let purpose, _): purpose == .rejoin
            case .idle, .connecting, .connected, .disconnected: false
            }
        }
    }

    /// LiveKit's SDKs wait so long for the first message, and for media.
    static let signalTimeout = Interval.seconds(Int64(7))
    static let mediaTimeout = Interval.seconds(Int64(15))
    /// How long the server may take to answer a request or an offer.
    static let answerTimeout = Interval.seconds(Int64(10))
    /// Requests that wait for the connection to come back.
    private static let heldLimit = 1_024

    let options: Options
    private(set) var phase = Phase.idle
    /// The newest that the server gave us.
    var token = ""
    /// How often we have tried to come back.
    var attempt = 0
    /// Since when we are in, the last time; and how often in a row that has not lasted.
    var connectedAt = Instant.zero
    var shortConnections = 0

    /// How many sessions were lost for good: what is begun in one does not go on in the next.
    private(set) var sessionNumber = 0

    /// Of the session: from `join` on.
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
    /// Asked of us and not yet decided.
    var requests = PendingRequests()

    private var random: EngineRandom
    /// Requests that outlast a connection.
    private var held: [LiveKitSignalRequest.OneOf_Message] = []
    private var outputs: [Output] = []
    private var nextOutput = 0

    /// What the machine is told once.
    struct Options {
        var autoSubscribe = true
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
        /// What ends the frames that the server makes itself.
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
        /// A message for the channel to the server.
        case sendData(DataLabel, [UInt8])
        /// All packets of a data track's frame, for theirs.
        case sendFrame([[UInt8]])
        case tell(RoomEvent)
        case subscribed(TrackSID)
        case unsubscribed(TrackSID)
        /// A data track of ours has this sid by now, or is over.
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

    /// A name that nobody guesses or has.
    mutating func makeID(_ prefix: String) -> String {
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz")
        return prefix + String((0..<12).map { _ in digits[Int(random.next() % 36)] })
    }

    /// What others may compare with their clocks.
    func wallClock() -> Int64 { options.wallClock() }

    /// Where a clock begins.
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

    /// The server hears what we say.
    var isSignalOpen: Bool {
        switch phase {
        case .connecting, .connected: true
        case .idle, .signaling, .waiting, .disconnected: false
        }
    }

    /// We are, or were and will be, in the room.
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

    /// What was begun in the session that there was, or that was waited for, does not go on.
    mutating func sessionReplaced() {
        sessionNumber += 1
        data.dropStreams()
    }

    /// Says it to the server now, or as soon as it hears again.
    mutating func say(_ request: LiveKitSignalRequest.OneOf_Message) {
        guard isSignalOpen else {
            if held.count < Self.heldLimit { held.append(request) }
            return
        }
        put(.send(request))
    }

    /// Says it to the server if it hears; it means nothing to another connection.
    mutating func sayNow(_ request: LiveKitSignalRequest.OneOf_Message) {
        if isSignalOpen { put(.send(request)) }
    }

    mutating func sayHeld() {
        for request in held { put(.send(request)) }
        held = []
    }

    mutating func forgetHeld() { held = [] }

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
