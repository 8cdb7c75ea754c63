internal import LiveKitProtocol

/// Whether we are in the room (LiveKit's names).
public enum ConnectionState: String, Sendable, Hashable {
    /// Not in a room: before `Room.connect`, and after the room was left or lost.
    case disconnected
    /// `Room.connect` is under way: the server has not let us in yet, or media cannot flow yet.
    case connecting
    /// In the room, and media can flow.
    case connected
    /// The connection was lost after we were in the room, and is made again.
    case reconnecting
}

/// What happens in a room, in order.
///
/// The events begin with the room as it is: `participantConnected` for each participant who is there already, followed
/// by `trackPublished` and `dataTrackPublished` for each of their tracks. These come before `connected`. When
/// a new session takes the place of a lost one, only what has changed meanwhile is reported.
public enum RoomEvent: Sendable {
    /// We are in the room, and media can flow. Comes once for each `Room.connect`.
    case connected
    /// The connection is lost and is made anew; media may go on meanwhile.
    case reconnecting
    /// The connection is there again, after `reconnecting`.
    case reconnected
    /// The room was left or lost; nothing follows. Comes without `connected` before it where the server let us in, but
    /// no path for media was found.
    case disconnected(DisconnectReason)
    /// A participant has come, or was there when we came. One that comes back in a new session is first reported as
    /// disconnected.
    case participantConnected(RemoteParticipant)
    /// A participant has left. Before it comes `trackUnpublished` for each of its tracks, and `dataTrackUnpublished`
    /// for each data track; but where the participant may be back in a moment, its data tracks wait for ten seconds.
    case participantDisconnected(RemoteParticipant)
    /// A participant publishes a track: from now on, or already when we came. It is not received before
    /// `trackSubscribed`.
    case trackPublished(RemoteTrackPublication, RemoteParticipant)
    /// A participant no longer publishes a track, or has left.
    case trackUnpublished(RemoteTrackPublication, RemoteParticipant)
    /// Its frames arrive from now on.
    case trackSubscribed(RemoteTrack)
    /// No more frames of it arrive.
    case trackUnsubscribed(RemoteTrack)
    /// The server does not give us this track.
    case trackSubscriptionFailed(TrackSID, SubscriptionFailure)
    /// The publisher or the server has muted a track. The publication is as it is now. What was muted when it was
    /// published is only told by the publication's `isMuted`.
    case trackMuted(RemoteTrackPublication, RemoteParticipant)
    /// A track is no longer muted. The publication is as it is now.
    case trackUnmuted(RemoteTrackPublication, RemoteParticipant)
    /// The server has paused the track for want of bandwidth (true), or goes on with it (false).
    case trackPaused(TrackSID, isPaused: Bool)
    /// The track's publisher permits us to subscribe to it, or no longer does.
    case subscriptionPermissionChanged(TrackSID, isAllowed: Bool)
    /// The server knows of a track of ours, and calls it so: after `Room.publish`, and again, with another sid, in each
    /// new session.
    case localTrackPublished(TrackSID, name: String)
    /// A track of ours is no longer published: we have withdrawn it, the server has ended it, or the server did not
    /// accept it in a new session.
    case localTrackUnpublished(TrackSID)
    /// The server has muted a track of ours (true), or unmuted it (false). `LocalTrackPublication.setMuted` causes no
    /// such event.
    case localTrackMuted(TrackSID, isMuted: Bool)
    /// With `ConnectOptions.dynacast`: the best quality in which anybody takes the pictures of a track of ours, or nil
    /// while nobody takes them. Layers of more are not sent; what has no layers is `high`, or not sent. Each connection
    /// begins as if everything was taken.
    case localTrackWanted(TrackSID, quality: VideoQuality?)
    /// A message for us, or for everybody, has come (`Room.publish(data:)` of another participant, or the server's).
    case dataReceived(DataReceived)
    /// A participant publishes a data track: from now on, or already when we came. `Room.subscribe` gives its frames.
    case dataTrackPublished(RemoteDataTrack)
    /// A data track is no longer published, or its publisher has left and is not back in time.
    case dataTrackUnpublished(RemoteDataTrack)
    /// All who are heard now, we among them, the loudest first; empty when all are silent.
    case activeSpeakersChanged([Speaker])
    /// The server judges the connection of a participant anew; the participant may be us.
    case connectionQualityChanged(ParticipantIdentity, ConnectionQuality)
    /// The room's metadata, in full.
    case roomMetadataChanged(String)
    /// The metadata of a participant, in full; the participant may be us.
    case participantMetadataChanged(ParticipantIdentity, metadata: String)
    /// The name of a participant; the participant may be us.
    case participantNameChanged(ParticipantIdentity, name: String)
    /// All attributes of a participant, not only those that have changed; the participant may be us.
    case participantAttributesChanged(ParticipantIdentity, attributes: [String: String])
    /// What the server lets us do from now on.
    case permissionsChanged(ParticipantPermissions)
    /// The server has given us a newer token (`Room.token`), which the next connection uses.
    case tokenRefreshed
}

/// A message that somebody sent to us, or to everybody.
public struct DataReceived: Sendable, Hashable {
    /// The content, as its sender handed it in: decrypted, where messages are encrypted.
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
    /// The server gave no reason, or one of a protocol newer than this client.
    case unknown
    /// The track's codec is not one that we can receive.
    case codecUnsupported = "codec_unsupported"
    /// There is no such track, or no longer.
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
    /// The server gave no reason, or one of a protocol newer than this client.
    case unknown
    /// We have left: `Room.disconnect`.
    case clientInitiated = "client_initiated"
    /// Somebody joined with the same identity, who takes our place.
    case duplicateIdentity = "duplicate_identity"
    /// The server is going down.
    case serverShutdown = "server_shutdown"
    /// The room service has removed us.
    case participantRemoved = "participant_removed"
    /// The room service has deleted the room.
    case roomDeleted = "room_deleted"
    /// The server does not know the session that was to be resumed.
    case stateMismatch = "state_mismatch"
    /// Joining failed, or the server did not let us come back.
    case joinFailure = "join_failure"
    /// The room moves to another server.
    case migration
    /// The signaling connection was lost, and could not be made again in any attempt.
    case signalClose = "signal_close"
    /// The room has ended.
    case roomClosed = "room_closed"
    /// Of calls by telephone (SIP): the callee did not answer in time.
    case userUnavailable = "user_unavailable"
    /// Of calls by telephone (SIP): the callee rejected the call.
    case userRejected = "user_rejected"
    /// Of calls by telephone (SIP): the trunk failed.
    case sipTrunkFailure = "sip_trunk_failure"
    /// The server has not heard from us for too long.
    case connectionTimeout = "connection_timeout"
    /// No path for media was found.
    case mediaFailure = "media_failure"
    /// The agent failed.
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
