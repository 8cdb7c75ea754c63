package import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

/// What everybody is told of the room and of each other.
extension RoomMachine {
    /// As the room service has it.
    package var info: LiveKitRoom {
        .with {
            $0.sid = sid
            $0.name = configuration.name
            $0.emptyTimeout = UInt32(clamping: configuration.emptyTimeout.nanoseconds / 1_000_000_000)
            $0.departureTimeout = UInt32(clamping: configuration.departureTimeout.nanoseconds / 1_000_000_000)
            $0.maxParticipants = UInt32(clamping: configuration.maximumParticipants)
            $0.creationTime = wallClock(createdAt) / 1_000_000_000
            $0.creationTimeMs = wallClock(createdAt) / 1_000_000
            $0.enabledCodecs = Self.publishableCodecs
            $0.metadata = configuration.metadata
            $0.numParticipants = UInt32(clamping: counts.participants)
            $0.numPublishers = UInt32(clamping: counts.publishers)
            $0.activeRecording = isRecorded
        }
    }

    /// With those whom nobody sees, as in LiveKit.
    var counts: RoomCounts {
        RoomCounts(participants: people.count { !$0.isDependent }, publishers: people.count(where: \.isPublisher))
    }

    /// Tells everybody how many there are, now and then: LiveKit's JavaScript SDK has no other word of it
    /// (`Room.numParticipants`).
    func tellCounts(at now: Instant) {
        guard counts != toldCounts, now >= nextRoomUpdate else { return }
        nextRoomUpdate = now + Self.roomUpdateInterval
        tellRoom()
    }

    private var isRecorded: Bool { people.contains(where: \.isRecorder) }

    /// Tells everybody when somebody begins to record, and when nobody does any more.
    func tellRecording() {
        guard phase == .open, isRecorded != toldRecording else { return }
        toldRecording = isRecorded
        tellRoom()
    }

    /// Who is in it, those whom nobody sees among them.
    package var participants: [LiveKitParticipantInfo] { people.map { info(of: $0) } }

    func info(of participant: Participant) -> LiveKitParticipantInfo {
        .with {
            $0.sid = participant.sid.rawValue
            $0.identity = participant.identity
            $0.state = participant.state
            if let reason = participant.disconnectReason { $0.disconnectReason = reason }
            $0.tracks = participant.published.map(\.info)
            $0.dataTracks = participant.dataTracks.map(\.info)
            $0.metadata = participant.claims.metadata
            $0.attributes = participant.claims.attributes
            $0.joinedAt = wallClock(participant.joinedAt) / 1_000_000_000
            $0.joinedAtMs = wallClock(participant.joinedAt) / 1_000_000
            $0.name = participant.claims.name
            $0.version = participant.version
            $0.permission = participant.grants.permission
            $0.region = configuration.server.region
            $0.isPublisher = participant.isPublisher
            $0.kind = participant.claims.participantKind
            $0.kindDetails = participant.claims.participantKindDetails
            // Peers choose the versions of calls and streams by these.
            $0.clientProtocol = participant.clientProtocol
            $0.capabilities = participant.capabilities
        }
    }

    /// In a room of more people than this, news of those who publish nothing are told together, twice a second: each
    /// of a thousand who come in one after the other would else be told to all the others, twice.
    static let maximumAudience = 50

    /// Tells of a change: the others, unless nobody is to see this participant, and if wanted the participant.
    func tellOf(_ participant: Participant, alsoSelf: Bool = false) {
        let alsoSelf = alsoSelf || participant.changes.untold == .everybody
        participant.changes.untold = nil
        participant.version += 1
        let info = info(of: participant)
        if alsoSelf { send(update(of: [info]), to: participant) }
        if !participant.isHidden { tellOthers(info, isUrgent: alsoSelf || info.isPublisher) }
        introduceDataTracks(of: participant)
    }

    /// So many changes that a client asks for are told at once in a `checkInterval`. A request of a few bytes is told
    /// to everybody, with all metadata and tracks: of more of them the last state is told at the interval's end.
    static let maximumChanges = 10

    /// Tells of a change that the participant, or a service, may ask for again and again.
    func tellOfChange(of participant: Participant, alsoSelf: Bool = false) {
        guard participant.changes.count < Self.maximumChanges else {
            if alsoSelf || participant.changes.untold == nil {
                participant.changes.untold = alsoSelf ? .everybody : .others
            }
            return
        }
        participant.changes.count += 1
        tellOf(participant, alsoSelf: alsoSelf)
    }

    /// Tells what had to wait, and lets new changes be told.
    func tellChanges(of participant: Participant, at now: Instant) {
        participant.changes.count = 0
        // Before what it publishes begins to flow to people whom it no longer lets have it.
        if let rule = participant.changes.rule {
            participant.changes.rule = nil
            allow(rule, of: participant, at: now)
        }
        if participant.changes.hasUnpublished {
            participant.changes.hasUnpublished = false
            publishBoundTracks(of: participant, at: now)
        }
        if participant.changes.untold != nil { tellOf(participant) }
        participant.changes.handlesTold = 0
        if participant.changes.hasUntoldHandles {
            participant.changes.hasUntoldHandles = false
            tellHandles(to: participant)
        }
    }

    /// - Parameters:
    ///   - isUrgent: it is told at once however many people there are, unless it is replaced.
    ///   - isReplaced: it is over, and another session that everybody sees comes in its place.
    func tellOthers(_ info: LiveKitParticipantInfo, isUrgent: Bool, isReplaced: Bool = false) {
        guard phase == .open else { return }
        news.removeAll { $0.info.sid == info.sid }
        let latest = News(info: info, isReplaced: isReplaced)
        // What is replaced waits until its successor is told of, whom the room does not count yet: if that has gone by
        // then, both ends are told. Nobody who follows identities misses anything meanwhile.
        let audience = people.count + (isReplaced ? 1 : 0)
        guard isUrgent && !isReplaced || audience <= Self.maximumAudience else {
            news.append(latest)
            return
        }
        // Clients know people by identity: that a former session is over is told before its successor, or never.
        let former = news.filter { $0.info.identity == info.identity }
        news.removeAll { $0.info.identity == info.identity }
        tell(former + [latest], to: people.filter { $0.sid.rawValue != info.sid })
    }

    func tellNews() {
        guard !news.isEmpty else { return }
        let told = news
        news = []
        let gone = Set(told.lazy.filter { $0.info.state == .disconnected }.map(\.info.identity))
        tell(told, to: people.filter { !gone.contains($0.identity) })
        for participant in people where gone.contains(participant.identity) {
            // It would take the end of its former session for its own.
            let others = told.filter {
                $0.info.identity != participant.identity || $0.info.sid == participant.sid.rawValue
            }
            tell(others, to: [participant])
        }
    }

    private func tell(_ told: [News], to audience: [Participant]) {
        // Where the successor has gone before anybody was told of it, nobody has come in the place.
        let gone = Set(told.lazy.filter { $0.info.state == .disconnected && !$0.isReplaced }.map(\.info.identity))
        let current = told.filter { !$0.isReplaced || gone.contains($0.info.identity) }
        let (full, short) = (update(of: told.map(\.info)), update(of: current.map(\.info)))
        for participant in audience {
            if participant.followsIdentities, !current.isEmpty {
                send(short, to: participant)
            } else if !participant.followsIdentities, !told.isEmpty {
                send(full, to: participant)
            }
        }
    }

    func update(of participants: [LiveKitParticipantInfo]) -> LiveKitSignalResponse.OneOf_Message {
        .update(.with { $0.participants = participants })
    }

    /// The others that a participant sees.
    func othersSeen(by participant: Participant) -> [LiveKitParticipantInfo] {
        people.filter { $0 !== participant && !$0.isHidden }.map { info(of: $0) }
    }

    func tellRoom() {
        toldCounts = counts
        let update = LiveKitSignalResponse.OneOf_Message.roomUpdate(.with { $0.room = info })
        for participant in people { send(update, to: participant) }
    }

    func tell(
        webhook event: String, _ participant: Participant? = nil, _ track: Track? = nil, at now: Instant,
        reason: LiveKitRoomEndReason? = nil
    ) {
        let id = random.sid("EV_")
        put(
            .webhook(
                .with {
                    $0.event = event
                    $0.room = info
                    if let participant { $0.participant = info(of: participant) }
                    if let track { $0.track = track.info }
                    if let reason { $0.roomEndReason = reason }
                    $0.id = id
                    $0.createdAt = wallClock(now) / 1_000_000_000
                }))
    }

    var serverInfo: LiveKitServerInfo { configuration.server.info }

    /// Pictures first, of them VP8: LiveKit's Flutter SDK 2.4.2 takes the first for video, whatever it is.
    static let publishableCodecs: [LiveKitCodec] =
        (MediaCodecs.video + MediaCodecs.audio).map { codec in
            .with { $0.mime = codec.mimeType }
        }
}

extension ServerDescription {
    /// As clients and workers are told it.
    package var info: LiveKitServerInfo {
        .with {
            $0.version = version
            $0.protocol = protocolVersion
            $0.region = region
            $0.nodeID = nodeID
            $0.agentProtocol = Self.agentProtocol
        }
    }
}

/// How many are in a room, as its clients see it.
struct RoomCounts: Equatable {
    var participants = 0
    var publishers = 0
}

/// A change of somebody's that the others are to be told.
struct News {
    var info: LiveKitParticipantInfo
    /// `RoomMachine.tellOthers`.
    var isReplaced: Bool
}

extension Participant {
    var state: LiveKitParticipantInfo.State {
        switch phase {
        case .joined: .joined
        // Somebody who is expected back is still there for the others.
        case .active, .interrupted: .active
        case .left: .disconnected
        }
    }
}
