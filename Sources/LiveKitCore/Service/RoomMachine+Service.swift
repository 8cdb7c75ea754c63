import Foundation
package import LiveKitProtocol
package import RTCEngine
import SwiftProtobuf

/// What the room service asks for. Whether it may is its own to know.
extension RoomMachine {
    private func known(_ identity: String) throws(RoomServiceError) -> Participant {
        guard let participant = people.first(where: { $0.identity == identity }) else { throw .noSuchParticipant }
        return participant
    }

    package func participant(_ identity: String) throws(RoomServiceError) -> LiveKitParticipantInfo {
        info(of: try known(identity))
    }

    /// Takes somebody out, and whoever came beside them with their token: they would go on in the room as that one.
    package func removeParticipant(_ identity: String, at now: Instant) throws(RoomServiceError) {
        let removed = people.filter { $0.identity == identity } + peopleBeside(identity)
        guard !removed.isEmpty else { throw .noSuchParticipant }
        for participant in removed {
            remove(participant, because: .participantRemoved, action: .disconnect, at: now)
        }
        settle(at: now)
    }

    /// Whoever came beside the bearer of a token for `identity`, also when that one has left. Where somebody else has
    /// come beside themselves under it, there may still be people whose own token names it: they are not that one's.
    private func peopleBeside(_ identity: String) -> [Participant] {
        let named = people.first { $0.identity == identity }
        guard named == nil || named?.tokenIdentity == identity else { return [] }
        return people.filter { $0.tokenIdentity == identity && $0.identity != identity }
    }

    /// Mutes somebody's track for everybody; or lets it be heard again, where the room allows that, and of who
    /// publishes by WHIP always: such a client has nothing to say it with itself.
    ///
    /// - Returns: nil for a track that is not there, which is no error, as in LiveKit: it may have ended just now.
    package func muteTrack(
        _ sid: TrackSID, of identity: String, isMuted: Bool, at now: Instant
    ) throws(RoomServiceError) -> LiveKitTrackInfo? {
        let participant = try known(identity)
        let track = participant.tracks.first { $0.sid == sid }
        let mayUnmute = configuration.allowsRemoteUnmute || participant.mode.isExchange
        guard isMuted || mayUnmute || track?.info.muted == false else { throw .remoteUnmuteDisabled }
        guard let track else { return nil }
        if track.info.muted != isMuted {
            track.serverMute = (isMuted, now)
            setMuted(isMuted, track, at: now)
        }
        // Also where it is so for the server: a client may have lost count. But one that has just muted itself, of
        // which the server has not heard, is not to be put on air where that is forbidden.
        if isMuted || mayUnmute { tellMute(isMuted, of: track) }
        settle(at: now)
        return track.info
    }

    func tellMute(_ isMuted: Bool, of track: Track) {
        send(
            .mute(
                .with {
                    $0.sid = track.sid.rawValue
                    $0.muted = isMuted
                }), to: track.publisher)
    }

    /// Changes what is said of somebody, and what they may do. Empty texts change nothing, and an attribute's empty
    /// value removes it. Whoever came beside them with their token may do no more than they may, and takes neither
    /// tracks nor metrics; where they have left themselves, it is those who are told of.
    package func updateParticipant(
        _ request: LiveKitUpdateParticipantRequest, at now: Instant
    ) throws(RoomServiceError) -> LiveKitParticipantInfo {
        let named = people.first { $0.identity == request.identity }
        let beside = request.hasPermission ? peopleBeside(request.identity) : []
        guard let participant = named ?? beside.first else { throw .noSuchParticipant }
        if let named {
            try update(
                named, name: request.name, metadata: request.metadata, attributes: request.attributes, at: now)
            if request.hasPermission { setPermission(request.permission, of: named, at: now) }
        }
        var permission = request.permission
        (permission.canSubscribe, permission.canSubscribeMetrics) = (false, false)
        for other in beside {
            setPermission(permission, of: other, at: now)
            // For whoever comes beside them next.
            var bearers = other.grants
            bearers.apply(request.permission)
            other.bearersGrants = bearers
        }
        settle(at: now)
        return info(of: participant)
    }

    /// Tracks that are not there are passed over, as in LiveKit.
    package func updateSubscriptions(
        _ request: LiveKitUpdateSubscriptionsRequest, at now: Instant
    ) throws(RoomServiceError) {
        let participant = try known(request.identity)
        let names = request.trackSids + request.participantTracks.flatMap(\.trackSids)
        let present = names.filter { tracks[TrackSID(rawValue: $0)] != nil }
        updateSubscription(present, isWanted: request.subscribe, of: participant, at: now)
        settle(at: now)
    }

    /// A message from nobody.
    package func sendData(_ request: LiveKitSendDataRequest, at now: Instant) throws(RoomServiceError) {
        let limit = configuration.limits.dataMessageBytes
        guard request.data.count <= limit else { throw .dataTooLong(limit: limit) }
        guard [0, Nonces.length].contains(request.nonce.count) else { throw .badNonce(length: Nonces.length) }
        // A service that has had no answer asks again.
        guard nonces.isNew(request.nonce) else { return }
        let destinations = Set(request.destinationIdentities)
            .union(identities(ofSessions: request.destinationSids))
        let packet = LiveKitDataPacket.with {
            $0.kind = request.kind
            $0.destinationIdentities = request.destinationIdentities
            $0.user = .with {
                $0.payload = request.data
                if request.hasTopic { $0.topic = request.topic }
                $0.nonce = request.nonce
                $0.destinationIdentities = request.destinationIdentities
            }
        }
        guard let bytes: [UInt8] = try? packet.serializedBytes() else { return }
        for participant in people where destinations.isEmpty || destinations.contains(participant.identity) {
            deliver(bytes, request.kind == .lossy ? .lossy : .reliable, to: participant, at: now)
        }
    }

    package func updateMetadata(_ metadata: String) throws(RoomServiceError) -> LiveKitRoom {
        let limit = configuration.limits.metadataBytes
        guard metadata.utf8.count <= limit else { throw .metadataTooLong(limit: limit) }
        configuration.metadata = metadata
        tellRoom()
        return info
    }

    // MARK: Names, metadata, attributes

    /// A participant's own wish.
    func updateOwn(_ request: LiveKitUpdateParticipantMetadata, of participant: Participant, at now: Instant) {
        func respond(_ reason: LiveKitRequestResponse.Reason, _ text: String = "") {
            refuse(reason, .updateMetadata(request), id: request.requestID, text, to: participant)
        }
        guard participant.grants.mayUpdateOwnMetadata else {
            return respond(.notAllowed, "does not have permission to update own metadata")
        }
        do throws(RoomServiceError) {
            try update(
                participant, name: request.name, metadata: request.metadata, attributes: request.attributes, at: now)
            if participant.takesSuccess { respond(.ok) }
        } catch {
            respond(.limitExceeded, "\(error)")
        }
    }

    private func update(
        _ participant: Participant, name: String, metadata: String, attributes: [String: String], at now: Instant
    ) throws(RoomServiceError) {
        let limits = configuration.limits
        guard name.utf8.count <= limits.nameBytes else { throw .nameTooLong(limit: limits.nameBytes) }
        guard metadata.utf8.count <= limits.metadataBytes else { throw .metadataTooLong(limit: limits.metadataBytes) }
        let updated = participant.claims.attributes.updated(with: attributes)
        guard updated.byteCount <= limits.attributesBytes else {
            throw .attributesTooLong(limit: limits.attributesBytes)
        }
        guard !(name.isEmpty && metadata.isEmpty && attributes.isEmpty) else { return }
        if !name.isEmpty { participant.claims.name = name }
        if !metadata.isEmpty { participant.claims.metadata = metadata }
        participant.claims.attributes = updated
        tellOfChange(of: participant, alsoSelf: true)
        if now - participant.tokenAt >= Self.changedTokenInterval {
            wantToken(for: participant, at: now)
        } else {
            participant.isTokenStale = true
        }
    }

    // MARK: Permissions

    /// Somebody may do more, or less: what they do already and may no longer ends.
    private func setPermission(_ permission: LiveKitParticipantPermission, of participant: Participant, at now: Instant)
    {
        let before = participant.grants
        var grants = before
        grants.apply(permission)
        guard grants != before else { return }
        if grants.hidden, !before.hidden { vanish(participant, at: now) }
        participant.grants = grants
        for track in participant.tracks where !grants.mayPublish(track.info.source) { withdraw(track, at: now) }
        if !grants.mayPublishData { for track in participant.dataTracks { withdraw(track) } }
        tellOf(participant, alsoSelf: true)
        tellRecording()
        judgeEmptiness(at: now)
        wantToken(for: participant, at: now)
        // Both ways: what others may have of somebody who is no longer hidden, too.
        for track in tracks.values.sorted(by: { $0.sid.rawValue < $1.sid.rawValue }) where track.publication != nil {
            if track.publisher === participant {
                for other in people where other !== participant { introduce(track, to: other, at: now) }
            } else {
                introduce(track, to: participant, at: now)
            }
        }
        for track in dataTracks.values.sorted(by: { $0.sid.rawValue < $1.sid.rawValue }) {
            for other in track.publisher === participant ? people : [participant] { introduce(track, to: other) }
        }
    }

    /// For the others it is as if somebody had left. Their clients forget its data tracks; and one of LiveKit's SDKs
    /// that is given one again without having asked does not know of it, nor hears anything when it asks then.
    private func vanish(_ participant: Participant, at now: Instant) {
        for track in participant.dataTracks { forgetWishes(for: track) }
        participant.version += 1
        var info = info(of: participant)
        info.state = .disconnected
        info.tracks = []
        info.dataTracks = []
        departures.add(info, at: now)
        tellOthers(info, isUrgent: true)
    }
}

extension VideoGrants {
    /// Leaves what `other` allows too. Whether somebody may subscribe is left as it is.
    mutating func limit(to other: VideoGrants) {
        // Names of sources are read without regard to case.
        let mine = canPublishSources.map { $0.lowercased() }
        let theirs = other.canPublishSources.map { $0.lowercased() }
        let common = theirs.isEmpty ? mine : mine.isEmpty ? theirs : mine.filter { theirs.contains($0) }
        // An empty list allows all.
        let hasSource = !common.isEmpty || mine.isEmpty && theirs.isEmpty
        if !other.mayPublish || !hasSource { canPublish = false }
        if !other.mayPublishData { canPublishData = false }
        if !other.mayUpdateOwnMetadata { canUpdateOwnMetadata = false }
        if !other.maySubscribeToMetrics { canSubscribeMetrics = false }
        if !other.mayManageAgentSession { canManageAgentSession = false }
        if other.hidden { hidden = true }
        canPublishSources = common
    }

    mutating func apply(_ permission: LiveKitParticipantPermission) {
        canSubscribe = permission.canSubscribe
        canPublish = permission.canPublish
        canPublishData = permission.canPublishData
        canPublishSources = permission.canPublishSources.map { $0.claimName ?? "\($0.rawValue)" }
        canUpdateOwnMetadata = permission.canUpdateMetadata
        canSubscribeMetrics = permission.canSubscribeMetrics
        canManageAgentSession = permission.canManageAgentSession
        hidden = permission.hidden
        recorder = permission.recorder
    }
}
