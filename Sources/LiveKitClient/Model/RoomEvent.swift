internal import LiveKitProtocol

/// Whether we are in the room (LiveKit's names).
public enum ConnectionState: String, Sendable, Hashable {
    case disconnected, connecting, connected, reconnecting
}

/// What happens in a room, in order.
public enum RoomEvent: Sendable {
    /// We are in the room, and media can flow.
    case connected
    /// The connection is lost and is made anew; media may go on meanwhile.
    case reconnecting
    case reconnected
    /// It is over; nothing follows.
    case disconnected(DisconnectReason)
    case participantConnected(RemoteParticipant)
    case participantDisconnected(RemoteParticipant)
    case trackPublished(RemoteTrackPublication, RemoteParticipant)
    case trackUnpublished(RemoteTrackPublication, RemoteParticipant)
    /// Its frames arrive from now on.
    case trackSubscribed(RemoteTrack)
    /// No more frames of it arrive.
    case trackUnsubscribed(RemoteTrack)
    /// The server does not give us this track.
    case trackSubscriptionFailed(TrackSID, SubscriptionFailure)
    case trackMuted(RemoteTrackPublication, RemoteParticipant)
    case trackUnmuted(RemoteTrackPublication, RemoteParticipant)
    /// Pictures have stopped for want of bandwidth, or go on.
    case trackPaused(TrackSID, Bool)
    /// Its publisher lets us have it, or no longer.
    case subscriptionPermissionChanged(TrackSID, isAllowed: Bool)
    case localTrackPublished(TrackSID, name: String)
    /// The server has ended it or does not take it in a new session, or we have ended it.
    case localTrackUnpublished(TrackSID)
    /// The server has muted a track of ours, or has switched it on again.
    case localTrackMuted(TrackSID, Bool)
    case dataReceived(DataReceived)
    /// Somebody publishes it: `Room.subscribe` gives its frames.
    case dataTrackPublished(RemoteDataTrack)
    case dataTrackUnpublished(RemoteDataTrack)
    case activeSpeakersChanged([Speaker])
    case connectionQualityChanged(ParticipantIdentity, ConnectionQuality)
    case roomMetadataChanged(String)
    case participantMetadataChanged(ParticipantIdentity, metadata: String)
    case participantNameChanged(ParticipantIdentity, name: String)
    case participantAttributesChanged(ParticipantIdentity, attributes: [String: String])
    case permissionsChanged(ParticipantPermissions)
    /// The token for the next time that this client connects.
    case tokenRefreshed
}

/// A message that somebody sent to us, or to everybody.
public struct DataReceived: Sendable, Hashable {
    public var payload: [UInt8]
    /// Chosen by applications.
    public var topic: String?
    /// Who sent it; nil when the server did, or somebody who is hidden.
    public var sender: ParticipantIdentity?
    /// It came on the channel that repeats what is lost.
    public var isReliable: Bool
}

/// Why the server does not give us a track.
public enum SubscriptionFailure: String, Sendable, Hashable {
    case unknown
    case codecUnsupported = "codec_unsupported"
    case trackNotFound = "track_not_found"

    init(_ error: LiveKitSubscriptionError) {
        switch error {
        case .seCodecUnsupported: self = .codecUnsupported
        case .seTrackNotfound: self = .trackNotFound
        case .seUnknown, .UNRECOGNIZED: self = .unknown
        }
    }
}

/// Why we are no longer in the room (LiveKit's names).
public enum DisconnectReason: String, Sendable, Hashable, CaseIterable {
    case unknown
    case clientInitiated = "client_initiated"
    case duplicateIdentity = "duplicate_identity"
    case serverShutdown = "server_shutdown"
    case participantRemoved = "participant_removed"
    case roomDeleted = "room_deleted"
    case stateMismatch = "state_mismatch"
    case joinFailure = "join_failure"
    case migration
    case signalClose = "signal_close"
    case roomClosed = "room_closed"
    case userUnavailable = "user_unavailable"
    case userRejected = "user_rejected"
    case sipTrunkFailure = "sip_trunk_failure"
    case connectionTimeout = "connection_timeout"
    case mediaFailure = "media_failure"
    case agentError = "agent_error"

    init(_ reason: LiveKitDisconnectReason) {
        switch reason {
        case .unknownReason, .UNRECOGNIZED: self = .unknown
        case .clientInitiated: self = .clientInitiated
        case .duplicateIdentity: self = .duplicateIdentity
        case .serverShutdown: self = .serverShutdown
        case .participantRemoved: self = .participantRemoved
        case .roomDeleted: self = .roomDeleted
        case .stateMismatch: self = .stateMismatch
        case .joinFailure: self = .joinFailure
        case .migration: self = .migration
        case .signalClose: self = .signalClose
        case .roomClosed: self = .roomClosed
        case .userUnavailable: self = .userUnavailable
        case .userRejected: self = .userRejected
        case .sipTrunkFailure: self = .sipTrunkFailure
        case .connectionTimeout: self = .connectionTimeout
        case .mediaFailure: self = .mediaFailure
        case .agentError: self = .agentError
        }
    }

    /// A sentence for people.
    public var sentence: String {
        switch self {
        case .unknown: "The server ended the connection."
        case .clientInitiated: "We have left."
        case .duplicateIdentity: "Somebody joined with the same identity."
        case .serverShutdown: "The server shut down."
        case .participantRemoved: "We were removed from the room."
        case .roomDeleted: "The room was deleted."
        case .stateMismatch: "The server does not know this session."
        case .joinFailure: "Joining the room failed."
        case .migration: "The room moved to another server."
        case .signalClose: "The connection to the server was lost and could not be made again."
        case .roomClosed: "The room was closed."
        case .userUnavailable: "The user was not available."
        case .userRejected: "The user rejected the call."
        case .sipTrunkFailure: "The telephone line failed."
        case .connectionTimeout: "The server did not hear from us for too long."
        case .mediaFailure: "No path for media was found."
        case .agentError: "The agent failed."
        }
    }
}
