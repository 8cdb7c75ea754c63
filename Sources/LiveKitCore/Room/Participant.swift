import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore

/// Somebody in a room, from joining to leaving. Every change to it is the room's.
final class Participant {
    /// How far somebody has come.
    enum Phase: Equatable {
        /// Has the join response; media cannot flow yet.
        case joined(since: Instant)
        /// Media can flow.
        case active
        /// They cannot any more; time is given to come back.
        case interrupted(until: Instant)
        case left
    }

    /// The way for messages to the client.
    enum Signaling: Equatable {
        case attached(SignalID)
        /// Its offer has had its answer, and it is told nothing else.
        case answered(SignalID)
        case detached(since: Instant)
    }

    let sid: ParticipantSID
    let identity: String
    /// `Arrival.tokenIdentity`.
    let tokenIdentity: String
    let mode: ConnectionMode
    /// Whether the connection that the room sends on says whether the client is connected, and carries its messages.
    /// The client is told when it joins, and keeps to it whatever it may do afterwards.
    let isSubscriberPrimary: Bool
    /// Of signaling; `clientProtocol` is of what clients say to each other.
    let protocolVersion: Int32
    let clientProtocol: Int32
    let capabilities: [LiveKitClientInfo.Capability]
    let quirks: ClientQuirks
    let autoSubscribe: Bool
    let autoSubscribesToData: Bool
    /// It says by itself how large it shows pictures, and when it shows them no more (adaptive stream).
    let isAdaptive: Bool
    let mayPause: Bool
    let joinedAt: Instant
    /// As the token had them; names, metadata, attributes and permissions change afterwards.
    var claims: AccessToken.Claims
    /// Of who came beside another: what that one could do when they were last there, or may by what was said since.
    var bearersGrants: VideoGrants?
    var phase: Phase
    /// Why it has left; nil as long as it has not.
    var disconnectReason: LiveKitDisconnectReason?
    var signaling: Signaling
    var contact: Contact
    /// Each time that the others are told of a change.
    var version: UInt32 = 0
    var iceServers: [LiveKitICEServer]?

    /// What carries this participant's media to the room; in a client of one connection also what carries the room's
    /// to the participant. Nil until there is a description for it.
    var publisher: Connection?
    var subscriber: Connection?
    /// Only TCP is offered as a path: datagrams did not get through, or the client asked for it.
    var prefersTCP = false
    var resumeFault: ResumeFault?
    /// It has come back, and has not said yet what it had.
    var maySyncState = false
    var simulatedSpeechUntil: Instant?
    /// When it was told last that it speaks, or that it does not.
    var speechToldAt: Instant?

    /// Announced and published, in the order of their announcement.
    var tracks: [Track] = []
    var subscriptions: [TrackSID: SubscribedTrack] = [:]
    /// It has had a published track, and publishers' agents were asked for.
    var hasPublished = false
    /// Published, in that order.
    var dataTracks: [DataTrack] = []
    var dataSubscriptions: [TrackSID: DataSubscription] = [:]
    var dataHandlesUsed: Set<UInt16> = []
    /// The last number of a data track in the packets that it gets; 0 before there is one.
    var lastDataHandle: UInt16 = 0
    /// What was asked for or against by name, also of tracks that are not published yet by those who have them.
    var wishes: [TrackSID: Bool] = [:]
    /// What it has no codec for: not tried again, unless it asks for that, or the track comes in another codec.
    var unsupported: [TrackSID: Set<PayloadFormat>] = [:]
    var hints: [TrackSID: SubscriberHints] = [:]
    /// Tracks for which its connection had no section left.
    var postponed: [TrackSID] = []
    var subscribers = SubscriberRule.everybody
    /// When that has changed last; nil as long as it has not.
    var subscribersSince: Instant?
    /// Tracks that the server has taken away, the last of them.
    var withdrawals: [Withdrawal] = []
    /// Where media of tracks that are over may still come, and what those sections called them.
    var remains: [(transceiver: TransceiverID, remoteTrackID: String?)] = []

    var messages = MessageLog()
    /// What waits for the channel to open or to empty.
    var outbox = Outbox()
    /// A reliable message was left out for it: it has none after that, and is about to be sent away.
    var isGivenUp = false
    /// What others hold of its reliable messages (`HeldMessage.cost`).
    var heldData = 0
    var quality = QualityRecord()
    /// In which interval of `RoomMachine.qualityTurns` its connections are judged.
    let qualityTurn: Int
    var changes = Changes()
    /// When the last token was asked for.
    var tokenAt: Instant
    /// It does not say what has changed since.
    var isTokenStale = false

    /// From this protocol on clients take a track's own id for its name (LiveKit's `SupportsSyncStreamID`).
    private static let namingProtocol = 10

    /// Several tracks of one publisher can be one stream for it.
    func playsInStep(_ room: RoomConfiguration) -> Bool {
        room.syncsStreams && protocolVersion >= Self.namingProtocol && quirks.keepsTrackIDs
    }

    init(
        sid: ParticipantSID, identity: String, arrival: Arrival, claims: AccessToken.Claims, signal: SignalID,
        at now: Instant
    ) {
        self.sid = sid
        self.identity = identity
        tokenIdentity = arrival.tokenIdentity
        mode = arrival.mode
        isSubscriberPrimary = arrival.mode == .dual && claims.video?.maySubscribe == true
        let client = arrival.request.clientInfo
        clientProtocol = client.clientProtocol
        protocolVersion = client.protocol
        quirks = ClientQuirks(client)
        let capabilities = Set(client.capabilities)
        self.capabilities = LiveKitClientInfo.Capability.allCases.filter { capabilities.contains($0) }
        // Players say nothing of tracks: what they have offered sections for they want.
        autoSubscribe = arrival.mode.isPlaying || arrival.request.connectionSettings.autoSubscribe
        autoSubscribesToData = arrival.request.connectionSettings.autoSubscribeDataTrack
        isAdaptive = arrival.request.connectionSettings.adaptiveStream
        mayPause = arrival.request.connectionSettings.subscriberAllowPause
        self.claims = claims
        iceServers = arrival.iceServers
        joinedAt = now
        tokenAt = now
        contact = Contact(heardAt: now)
        phase = .joined(since: now)
        signaling = arrival.mode.isExchange ? .answered(signal) : .attached(signal)
        qualityTurn = Int(signal.rawValue % UInt64(RoomMachine.qualityTurns))
    }

    /// What they may do.
    var grants: VideoGrants {
        get { claims.video ?? VideoGrants() }
        set { claims.video = newValue }
    }

    var isHidden: Bool { grants.hidden }

    var isAgent: Bool { claims.isAgent }
    var isRecorder: Bool { claims.isRecorder }
    /// The job that an agent's token is for, empty where it names none; nil of who is no agent.
    var agentJob: String? { isAgent ? claims.agentJob : nil }

    /// Is there for the others' sake, as recorders and agents are: a room of such alone is empty, as in LiveKit.
    var isDependent: Bool { claims.isDependent }

    /// It goes on with whoever comes in an identity's place: that the session before is over it need not be told.
    var followsIdentities: Bool { protocolVersion >= 12 }
    /// It does what a `leave` asks for (`LeaveRequest.action`). Others take each for the end, or begin anew.
    var takesActions: Bool { protocolVersion >= 13 }
    /// It hears of what was done as well as of what was refused.
    var takesSuccess: Bool { protocolVersion >= 15 }

    /// Counts where a room takes so many and no more, seen or not, as in LiveKit. Players do whatever they are.
    var takesPlace: Bool { mode.isPlaying || !isDependent }

    var primary: Connection? { isSubscriberPrimary ? subscriber : publisher }

    var hasLeft: Bool { phase == .left }

    /// Whether its media could flow, and still can or may again.
    var hasBeenActive: Bool {
        switch phase {
        case .active, .interrupted: true
        case .joined, .left: false
        }
    }

    var published: [Track] { tracks.filter { $0.publication != nil } }
    var isPublisher: Bool { !published.isEmpty || !dataTracks.isEmpty }

    /// Both, or the one.
    var connections: [Connection] {
        guard mode == .dual else { return publisher.map { [$0] } ?? [] }
        return [publisher, subscriber].compactMap { $0 }
    }
}

extension AccessToken.Claims {
    /// By kind or by grant, as in LiveKit; and so are recorders. A permission changes the grant alone.
    var isAgent: Bool { participantKind == .agent || video?.agent == true }
    var isRecorder: Bool { participantKind == .egress || video?.recorder == true }

    /// `Participant.isDependent`, of whoever comes with this token.
    var isDependent: Bool { isAgent || isRecorder }
}

/// A track that the server took away from its publisher.
struct Withdrawal {
    var sid: TrackSID
    var at: Instant

    /// So many are remembered of one participant.
    static let maximum = 64
}

/// Since when a client that comes back may have missed what it was told.
struct Contact {
    /// When it said something last.
    var heardAt: Instant
    /// When it came back last, and what was told again then.
    private var former: (at: Instant, since: Instant)?

    init(heardAt: Instant) { self.heardAt = heardAt }

    /// It comes back.
    ///
    /// - Parameter lossTime: what was sent so long before it was heard may be lost: its own messages can still come
    ///   while ours do not, until it misses the answer to a ping.
    /// - Returns: since when all that it was to know is to be told again.
    mutating func resume(lossTime: Interval, at now: Instant) -> Instant {
        let since = missedSince(lossTime: lossTime)
        former = (now, since)
        return since
    }

    /// What `resume` would return.
    func missedSince(lossTime: Interval) -> Instant {
        let since = heardAt - lossTime
        // What it was told when it came back last may be lost as well.
        if let former, former.at >= since { return min(since, former.since) }
        return since
    }
}

/// Changes that were asked for in this interval.
struct Changes {
    enum Audience {
        case others
        case everybody
    }

    /// How many were told.
    var count = 0
    /// To whom the last of them is still to be told.
    var untold: Audience?
    /// How many times it was told under which numbers data tracks come to it.
    var handlesTold = 0
    var hasUntoldHandles = false
    /// Tracks that came are not published yet: the others would be told of each.
    var hasUnpublished = false
    /// Whom it lets subscribe from the interval's end on.
    var rule: SubscriberRule?
}

/// One peer connection of a participant.
final class Connection {
    enum Role {
        /// Of a client of one connection.
        case only
        case publisher
        case subscriber
        /// Of a client that has offered sections to receive in, and is told nothing of what is in them.
        case player
    }

    let id: RoomPeerID
    let role: Role
    unowned let participant: Participant
    var state = PeerConnectionState.new
    /// Media could flow, whatever has come since.
    var hasBeenConnected = false
    /// Since when ICE has had a path; nil while it has none.
    var pathSince: Instant?
    /// When media could flow first, since it was made, has fallen back to TCP, or the client has come back last
    /// after a failure.
    var connectedSince: Instant?
    /// The username fragment that the owner was told last.
    var fragment: String?
    /// The client's own username fragments of before, newest last: of one that exchanges fragments (WHIP).
    var formerNames: [String] = []
    var channels: [DataLabel: DataChannelID] = [:]
    /// That the client has made under names which are not the protocol's.
    var unlabelled: Set<DataChannelID> = []
    /// It has had a channel for reliable messages that was open.
    var hasHadReliable = false
    /// Since when it has no channel for reliable messages any more; nil while there is one, and before there was one.
    var lostReliableAt: Instant?
    /// Something has changed that the client is to hear of by a description.
    var needsNegotiation = false

    // Of a connection in which the room makes the offers.
    var lastOffer: UInt32 = 0
    /// When it was made; nil once it is answered.
    var offeredAt: Instant?
    /// The next offer is to find new paths.
    var needsRestart = false

    // Of one in which the client does.
    var asked = AskedSections()
    var offered = OfferedSize()
    /// Those of a player's, in its order.
    var sections: [PlayedSection] = []

    init(id: RoomPeerID, role: Role, of participant: Participant) {
        self.id = id
        self.role = role
        self.participant = participant
    }
}

/// How long a client's last offer was.
struct OfferedSize {
    /// For so many sections more there is room in a description, as far as is known.
    private(set) var room = Int.max

    /// Some bytes fewer than a message may have (`SignalConnection.terms`).
    static let limit = 1_536 << 10

    init() {}

    init(of offer: String) {
        var longest = 1
        var length = 0
        for line in offer.utf8.split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "m=".utf8) { length = 0 }
            length += line.count + 1
            longest = max(longest, length)
        }
        room = max(Self.limit - offer.utf8.count, 0) / longest
    }
}

/// How many sections to receive in a client of one connection has been asked for and has not offered yet.
struct AskedSections {
    var audio = 0
    var video = 0
    /// The last request has not been answered by an offer.
    var isOutstanding = false
    /// Offers in a row that brought none of what was asked for: a client that cannot is not asked for ever.
    var fruitless = 0
    /// The last offer brought a section for somebody who waited.
    var hasServed = false

    static let maximumFruitless = 3
}

/// Whom a participant lets subscribe to its tracks.
enum SubscriberRule: Equatable {
    case everybody
    /// Nobody but these, by identity.
    case named([String: Tracks])

    struct Tracks: Equatable {
        var includesAll = false
        var sids: Set<TrackSID> = []

        func contains(_ track: TrackSID) -> Bool { includesAll || sids.contains(track) }
    }
}
