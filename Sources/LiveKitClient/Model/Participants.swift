internal import LiveKitProtocol
public import RTCEngine

/// Somebody else in the room, as the server has told of them.
public struct RemoteParticipant: Sendable, Hashable, Identifiable {
    public let sid: ParticipantSID
    public let identity: ParticipantIdentity
    /// What people see; may be empty.
    public var name: String
    public var metadata: String
    public var attributes: [String: String]
    public var kind: ParticipantKind
    /// What they publish.
    public var tracks: [RemoteTrackPublication]
    /// Of what they publish the tracks of data.
    public var dataTracks: [RemoteDataTrack]

    public var id: ParticipantSID { sid }
}

/// Us.
public struct LocalParticipant: Sendable, Hashable {
    public let sid: ParticipantSID
    public let identity: ParticipantIdentity
    public var name: String
    public var metadata: String
    public var attributes: [String: String]
    public var permissions: ParticipantPermissions
}

/// What a participant may do: of us what the server lets us, which the room service may change at any time; of an agent
/// what its worker asks for.
public struct ParticipantPermissions: Sendable, Hashable {
    public var canSubscribe: Bool
    public var canPublish: Bool
    public var canPublishData: Bool
    public var canUpdateMetadata: Bool
    /// Nobody is told of us.
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

/// What kind of program a participant is.
public enum ParticipantKind: String, Sendable, Hashable {
    case standard, ingress, egress, sip, agent, connector, bridge
    /// Of a protocol newer than this client.
    case unknown
}

/// A track that somebody publishes, whether we have subscribed to it or not.
public struct RemoteTrackPublication: Sendable, Hashable, Identifiable {
    public let sid: TrackSID
    public var name: String
    public var kind: MediaKind
    public var source: TrackSource
    /// Such as `video/VP8`; empty until the server knows.
    public var mimeType: String
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
    case unknown, camera, microphone
    case screenShare = "screen_share"
    case screenShareAudio = "screen_share_audio"
}

/// Which of a picture's sizes is wanted.
public enum VideoQuality: String, Sendable, Hashable, CaseIterable {
    case low, medium, high
}

/// How well a participant is connected, in the server's judgement.
public enum ConnectionQuality: String, Sendable, Hashable {
    case lost, poor, good, excellent
}

/// A participant who is heard.
public struct Speaker: Sendable, Hashable {
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
