internal import LiveKitProtocol
public import RTCEngine

/// Somebody else in the room, as the server has told of them.
public struct RemoteParticipant: Sendable, Hashable, Identifiable {
    /// Of this session; another one when the participant comes back in a new session.
    public let sid: ParticipantSID
    /// From the participant's token; the same in every session.
    public let identity: ParticipantIdentity
    /// What people see; may be empty.
    public var name: String
    /// Chosen by applications; may be empty.
    public var metadata: String
    /// Chosen by applications; may be empty.
    public var attributes: [String: String]
    /// What kind of program the participant is.
    public var kind: ParticipantKind
    /// The audio and video tracks that the participant publishes.
    public var tracks: [RemoteTrackPublication]
    /// The data tracks that the participant publishes.
    public var dataTracks: [RemoteDataTrack]

    public var id: ParticipantSID { sid }
}

/// Us, as the server has told of us last. A copy: `Room.updateMetadata` is what changes us.
public struct LocalParticipant: Sendable, Hashable {
    /// Of this session; another one in a new session. Empty before the first one.
    public let sid: ParticipantSID
    /// From our token. Empty before the server has let us in for the first time.
    public let identity: ParticipantIdentity
    /// What people see; may be empty.
    public var name: String
    /// Chosen by applications; may be empty.
    public var metadata: String
    /// Chosen by applications; may be empty.
    public var attributes: [String: String]
    /// What the server lets us do.
    public var permissions: ParticipantPermissions
}

/// What a participant may do: of us what the server lets us, which the room service may change at any time; of an agent
/// what its worker asks for.
public struct ParticipantPermissions: Sendable, Hashable {
    /// May subscribe to others' tracks.
    public var canSubscribe: Bool
    /// May publish audio and video tracks.
    public var canPublish: Bool
    /// May send messages and streams, and publish data tracks.
    public var canPublishData: Bool
    /// May change its own name, metadata and attributes.
    public var canUpdateMetadata: Bool
    /// The others in the room are not told of the participant.
    public var isHidden: Bool

    /// Unless something else is said, everything that does not hide.
    public init(
        canSubscribe: Bool = true, canPublish: Bool = true, canPublishData: Bool = true,
        canUpdateMetadata: Bool = true, isHidden: Bool = false
    ) {
        self.canSubscribe = canSubscribe
        self.canPublish = canPublish
        self.canPublishData = canPublishData
        self.canUpdateMetadata = canUpdateMetadata
        self.isHidden = isHidden
    }
}

/// What kind of program a participant is (LiveKit's names).
public enum ParticipantKind: String, Sendable, Hashable {
    /// An application with one of LiveKit's SDKs, or this client.
    case standard
    /// Brings media into the room that came by WHIP, by RTMP or from a URL.
    case ingress
    /// Records the room or streams it elsewhere.
    case egress
    /// A telephone.
    case sip
    /// A program of LiveKit Agents, as those of `AgentWorker`.
    case agent
    /// Connects the room with the calls of another service, such as WhatsApp.
    case connector
    /// Connects the room with another source of media, such as an RTSP camera.
    case bridge
    /// Of a protocol newer than this client.
    case unknown
}

/// A track that somebody publishes, whether we have subscribed to it or not.
public struct RemoteTrackPublication: Sendable, Hashable, Identifiable {
    /// What the server calls the track; another one in a new session of its publisher.
    public let sid: TrackSID
    /// Chosen by the publisher; may be empty, and need not be unique.
    public var name: String
    /// Audio or video.
    public var kind: MediaKind
    /// What the track shows or holds, as its publisher says.
    public var source: TrackSource
    /// Such as `video/VP8`; empty until the server knows.
    public var mimeType: String
    /// Its publisher, or the server, has muted the track: nothing is sent on it.
    public var isMuted: Bool
    /// In pixels; 0 for sound.
    public var width: Int
    /// In pixels; 0 for sound.
    public var height: Int
    /// Encrypted between clients: its frames can be read with keys alone (`ConnectOptions.encryption`), which
    /// `RemoteTrack.isReadable` tells of.
    public var isEncrypted: Bool

    public var id: TrackSID { sid }
}

/// What a track shows or holds.
public enum TrackSource: String, Sendable, Hashable, CaseIterable {
    /// Its publisher does not say, or says what this client does not know.
    case unknown
    /// The pictures of a camera.
    case camera
    /// The sound of a microphone.
    case microphone
    /// The pictures of a shared screen, window or page.
    case screenShare = "screen_share"
    /// The sound of what is shared.
    case screenShareAudio = "screen_share_audio"
}

/// Which of a picture's sizes is wanted.
public enum VideoQuality: String, Sendable, Hashable, Comparable, CaseIterable {
    /// The smallest.
    case low
    /// The one in the middle.
    case medium
    /// The largest.
    case high

    public static func < (one: Self, other: Self) -> Bool { one.rank < other.rank }

    private var rank: Int {
        switch self {
        case .low: 0
        case .medium: 1
        case .high: 2
        }
    }
}

/// How well a participant is connected, in the server's judgement.
public enum ConnectionQuality: String, Sendable, Hashable {
    /// Nothing arrives.
    case lost
    /// Media are impaired.
    case poor
    /// Media may be impaired a little.
    case good
    /// Media are not impaired.
    case excellent
}

/// A participant who is heard.
public struct Speaker: Sendable, Hashable {
    /// Who speaks; it may be us.
    public var identity: ParticipantIdentity
    /// From 0 to 1, which is loudest.
    public var level: Float
}

// MARK: From the server's messages

extension RemoteParticipant {
    init(_ info: LiveKitParticipantInfo) {
        sid = ParticipantSID(info.sid)
        identity = ParticipantIdentity(info.identity)
        name = info.name
        metadata = info.metadata
        attributes = info.attributes
        kind = ParticipantKind(info.kind)
        tracks = info.tracks.compactMap(RemoteTrackPublication.init)
        dataTracks = info.dataTracks.map { RemoteDataTrack($0, of: ParticipantIdentity(info.identity)) }
    }
}

extension LocalParticipant {
    init(_ info: LiveKitParticipantInfo) {
        sid = ParticipantSID(info.sid)
        identity = ParticipantIdentity(info.identity)
        name = info.name
        metadata = info.metadata
        attributes = info.attributes
        permissions = ParticipantPermissions(
            canSubscribe: info.permission.canSubscribe, canPublish: info.permission.canPublish,
            canPublishData: info.permission.canPublishData, canUpdateMetadata: info.permission.canUpdateMetadata,
            isHidden: info.permission.hidden)
    }
}

extension RemoteTrackPublication {
    /// Nil for what is neither sound nor picture.
    init?(_ info: LiveKitTrackInfo) {
        switch info.type {
        case .audio: kind = .audio
        case .video: kind = .video
        case .data, .UNRECOGNIZED: return nil
        }
        sid = TrackSID(info.sid)
        name = info.name
        source = TrackSource(info.source)
        mimeType = info.mimeType
        isMuted = info.muted
        width = Int(info.width)
        height = Int(info.height)
        isEncrypted = info.encryption != .none
    }
}

extension ParticipantKind {
    init(_ kind: LiveKitParticipantInfo.Kind) {
        switch kind {
        case .standard: self = .standard
        case .ingress: self = .ingress
        case .egress: self = .egress
        case .sip: self = .sip
        case .agent: self = .agent
        case .connector: self = .connector
        case .bridge: self = .bridge
        case .UNRECOGNIZED: self = .unknown
        }
    }
}

extension TrackSource {
    init(_ source: LiveKitTrackSource) {
        switch source {
        case .camera: self = .camera
        case .microphone: self = .microphone
        case .screenShare: self = .screenShare
        case .screenShareAudio: self = .screenShareAudio
        case .unknown, .UNRECOGNIZED: self = .unknown
        }
    }

    var message: LiveKitTrackSource {
        switch self {
        case .unknown: .unknown
        case .camera: .camera
        case .microphone: .microphone
        case .screenShare: .screenShare
        case .screenShareAudio: .screenShareAudio
        }
    }
}

extension VideoQuality {
    /// Nil for `off`, and for what a newer protocol has.
    init?(_ message: LiveKitVideoQuality) {
        switch message {
        case .low: self = .low
        case .medium: self = .medium
        case .high: self = .high
        case .off, .UNRECOGNIZED: return nil
        }
    }

    var message: LiveKitVideoQuality {
        switch self {
        case .low: .low
        case .medium: .medium
        case .high: .high
        }
    }
}

extension ConnectionQuality {
    init?(_ quality: LiveKitConnectionQuality) {
        switch quality {
        case .poor: self = .poor
        case .good: self = .good
        case .excellent: self = .excellent
        case .lost: self = .lost
        case .UNRECOGNIZED: return nil
        }
    }
}
