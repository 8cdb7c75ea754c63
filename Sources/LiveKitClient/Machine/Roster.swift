internal import LiveKitProtocol
internal import RTCEngine

/// Who is in the room, as the server has told.
struct Roster {
    var local = LiveKitParticipantInfo()
    /// The others, by sid.
    var remote: [String: LiveKitParticipantInfo] = [:]
    /// How loud those are who speak now, by sid.
    var speakers: [String: Float] = [:]

    var localIdentity: ParticipantIdentity { ParticipantIdentity(local.identity) }

    func identity(of sid: String) -> ParticipantIdentity? {
        if sid == local.sid { return localIdentity }
        return remote[sid].map { ParticipantIdentity($0.identity) }
    }

    func has(_ identity: ParticipantIdentity) -> Bool {
        remote.values.contains { $0.identity == identity.rawValue }
    }

    /// The track of that sid, and who publishes it.
    func track(_ sid: TrackSID) -> (publication: RemoteTrackPublication, participant: RemoteParticipant)? {
        for info in remote.values {
            guard let track = info.tracks.first(where: { $0.sid == sid.rawValue }),
                let publication = RemoteTrackPublication(track)
            else { continue }
            return (publication, RemoteParticipant(info))
        }
        return nil
    }
}

extension RoomClientMachine {
    /// Takes who is in the room when we come in. Where that is in a new session, the differences are told as events.
    mutating func rosterBegins(
        _ local: LiveKitParticipantInfo, _ others: [LiveKitParticipantInfo], at now: Instant
    ) {
        roster.local = local
        roster.speakers = [:]
        let sids = Set(others.map(\.sid))
        for info in roster.remote.values.filter({ !sids.contains($0.sid) }).sorted(by: { $0.sid < $1.sid }) {
            participantLeft(info, mayReturn: true, at: now)
        }
        participantsChanged(others, at: now)
    }

    mutating func participantsChanged(_ participants: [LiveKitParticipantInfo], at now: Instant) {
        for info in participants {
            if info.sid == roster.local.sid {
                localChanged(info)
            } else if info.identity == roster.local.identity {
                // An earlier session of ours, which is ending.
                continue
            } else if info.state == .disconnected {
                if let known = roster.remote[info.sid] {
                    participantLeft(known, mayReturn: info.disconnectReason.mayReturn, at: now)
                }
            } else if let known = roster.remote[info.sid] {
                // Updates may overtake each other: an older version is ignored.
                if info.version >= known.version { participantChanged(from: known, to: info) }
            } else {
                // An identity has one session at a time, so the old one is over, even if that is told later.
                if let old = roster.remote.values.first(where: { $0.identity == info.identity }) {
                    participantLeft(old, mayReturn: true, at: now)
                }
                participantCame(info)
            }
        }
        matchStreams()
    }

    private mutating func participantCame(_ info: LiveKitParticipantInfo) {
        roster.remote[info.sid] = info
        let participant = RemoteParticipant(info)
        put(.tell(.participantConnected(participant)))
        for track in participant.tracks { put(.tell(.trackPublished(track, participant))) }
        dataTracksChanged(of: participant.identity, to: info.dataTracks)
    }

    /// - Parameter mayReturn: the same person is back in another session, or may be soon; its data tracks may go on.
    private mutating func participantLeft(_ info: LiveKitParticipantInfo, mayReturn: Bool, at now: Instant) {
        roster.remote[info.sid] = nil
        roster.speakers[info.sid] = nil
        let participant = RemoteParticipant(info)
        for track in participant.tracks {
            unsubscribed(track.sid)
            put(.tell(.trackUnpublished(track, participant)))
        }
        dataPublisherLeft(participant.identity, mayReturn: mayReturn, at: now)
        data.forget(info.sid)
        put(.tell(.participantDisconnected(participant)))
        for call in calls.recipientLeft(participant.identity) {
            put(.completeCall(call, .failure(.recipientDisconnected)))
        }
        endStreams(of: info, at: now)
    }

    private mutating func participantChanged(from old: LiveKitParticipantInfo, to new: LiveKitParticipantInfo) {
        roster.remote[new.sid] = new
        let (before, after) = (RemoteParticipant(old), RemoteParticipant(new))
        for track in before.tracks where !after.tracks.contains(where: { $0.sid == track.sid }) {
            unsubscribed(track.sid)
            put(.tell(.trackUnpublished(track, after)))
        }
        for track in after.tracks {
            guard let known = before.tracks.first(where: { $0.sid == track.sid }) else {
                put(.tell(.trackPublished(track, after)))
                continue
            }
            if known.isMuted != track.isMuted {
                put(.tell(track.isMuted ? .trackMuted(track, after) : .trackUnmuted(track, after)))
            }
        }
        dataTracksChanged(of: after.identity, to: new.dataTracks)
        tellChanges(of: after.identity, from: old, to: new)
    }

    private mutating func localChanged(_ info: LiveKitParticipantInfo) {
        let old = roster.local
        guard info.state != .disconnected, info.version >= old.version else { return }
        roster.local = info
        tellChanges(of: roster.localIdentity, from: old, to: info)
        let (before, after) = (LocalParticipant(old).permissions, LocalParticipant(info).permissions)
        if info.hasPermission, before != after { put(.tell(.permissionsChanged(after))) }
        metadataConfirmed(info)
    }

    private mutating func tellChanges(
        of identity: ParticipantIdentity, from old: LiveKitParticipantInfo, to new: LiveKitParticipantInfo
    ) {
        if old.name != new.name { put(.tell(.participantNameChanged(identity, name: new.name))) }
        if old.metadata != new.metadata {
            put(.tell(.participantMetadataChanged(identity, metadata: new.metadata)))
        }
        if old.attributes != new.attributes {
            put(.tell(.participantAttributesChanged(identity, attributes: new.attributes)))
        }
    }

    mutating func roomChanged(_ room: LiveKitRoom) {
        if !room.sid.isEmpty { session.roomSID = room.sid }
        guard room.metadata != session.roomMetadata else { return }
        session.roomMetadata = room.metadata
        put(.tell(.roomMetadataChanged(room.metadata)))
    }

    /// Takes those whose loudness has changed, also those who are silent now.
    mutating func speakersChanged(_ changes: [LiveKitSpeakerInfo]) {
        for change in changes { roster.speakers[change.sid] = change.active ? change.level : nil }
        let speakers = roster.speakers.compactMap { sid, level in
            roster.identity(of: sid).map { Speaker(identity: $0, level: level) }
        }
        put(
            .tell(
                .activeSpeakersChanged(
                    speakers.sorted { ($1.level, $0.identity.rawValue) < ($0.level, $1.identity.rawValue) })))
    }

    mutating func qualityChanged(_ updates: [LiveKitConnectionQualityInfo]) {
        for update in updates {
            guard let identity = roster.identity(of: update.participantSid),
                let quality = ConnectionQuality(update.quality)
            else { continue }
            put(.tell(.connectionQualityChanged(identity, quality)))
        }
    }
}

extension LiveKitDisconnectReason {
    /// Whether a participant who has left for this reason may come back soon in a new session: the connection was lost,
    /// or the server has asked for a new session.
    fileprivate var mayReturn: Bool {
        switch self {
        case .unknownReason, .duplicateIdentity, .serverShutdown, .stateMismatch, .joinFailure, .migration,
            .signalClose, .connectionTimeout, .mediaFailure:
            true
        case .clientInitiated, .participantRemoved, .roomDeleted, .roomClosed, .userUnavailable, .userRejected,
            .sipTrunkFailure, .agentError, .UNRECOGNIZED:
            false
        }
    }
}
