import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

/// Tracks are announced, found in an offer, published, muted and ended.
extension RoomMachine {
    // MARK: Announcing

    func addTrack(_ request: LiveKitAddTrackRequest, of participant: Participant, at now: Instant) {
        let limits = configuration.limits
        guard let request = request.known(within: limits.trackRequestBytes) else {
            return self.refuse(.invalidRequest, nil, "the description of a track is too long", to: participant)
        }
        func refuse(_ reason: LiveKitRequestResponse.Reason, _ text: String) {
            self.refuse(reason, .addTrack(request), text, to: participant)
        }
        guard participant.grants.mayPublish(request.source) else {
            return refuse(.notAllowed, "not allowed to publish this source")
        }
        guard request.type == .audio || request.type == .video else {
            return refuse(.unsupportedType, "this type of track is not supported")
        }
        // What a token allows to publish it names by source: it is the kind of media that it has in mind.
        guard request.source.trackType.map({ $0 == request.type }) ?? true else {
            return refuse(.invalidRequest, "the source of a track is of another type")
        }
        // A second codec for a track that is there.
        guard request.sid.isEmpty else { return refuse(.unsupportedType, "a track has one codec") }
        guard !request.cid.isEmpty, request.byteCountIsWithin(limits) else {
            return refuse(.invalidRequest, "the ids of a track are not as they should be")
        }
        // It asks again while it waits.
        if let known = participant.tracks.first(where: { $0.publication == nil && $0.clientIDs.first == request.cid }) {
            known.announcedAt = now
            return tellPublished(known)
        }
        guard participant.tracks.count < limits.tracksPerParticipant else {
            return refuse(.limitExceeded, "too many tracks")
        }
        let sid = TrackSID(rawValue: random.sid(request.sidPrefix))
        let track = Track(sid: sid, of: participant, request, info: request.info(sid: sid), at: now)
        participant.tracks.append(track)
        tracks[sid] = track
        tellPublished(track)
    }

    private func tellPublished(_ track: Track) {
        send(
            .trackPublished(
                .with {
                    $0.cid = track.request.cid
                    $0.track = track.info
                }), to: track.publisher)
    }

    // MARK: Finding

    /// Tracks whose sections no longer send are over.
    func endTracks(of participant: Participant, missingIn offer: SessionDescription, at now: Instant) {
        guard let connection = participant.publisher else { return }
        let sending = media.withMachine(of: connection.id) { machine in
            machine.transceivers.filter { offer.sends($0) }.map(\.id)
        }
        // What the client has understood to be withdrawn may come in the same section again.
        for place in participant.withdrawals.indices {
            guard let section = participant.withdrawals[place].section else { continue }
            if sending?.contains(section.transceiver) != true { participant.withdrawals[place].section = nil }
        }
        let over = participant.tracks.filter { track in
            track.transceiver.map { sending?.contains($0) != true } ?? false
        }
        let isKnown = over.contains { $0.publication != nil }
        for track in over { end(track, at: now) }
        if isKnown { tellOfChange(of: participant) }
    }

    /// Finds the announced tracks in an offer: by the track's id of the section, or else by kind and order.
    func bindTracks(of participant: Participant, to offer: SessionDescription, at now: Instant) {
        guard let connection = participant.publisher else { return }
        let taken = Set(participant.tracks.compactMap(\.transceiver))
        let sections =
            media.withMachine(of: connection.id) { machine in
                machine.transceivers.filter { offer.sends($0) && !taken.contains($0.id) }
            } ?? []
        let named = Set(sections.compactMap(\.remoteTrackID))
        for section in sections {
            var waiting = participant.tracks.filter { $0.transceiver == nil && $0.kind == section.kind }
            if let match = waiting.first(where: { track in
                section.remoteTrackID.map { track.clientIDs.contains($0) } ?? false
            }) {
                waiting = [match]
            } else {
                // Not one that another section names.
                waiting.removeAll { track in track.clientIDs.contains { named.contains($0) } }
                // Nor one in place of what was withdrawn and still comes.
                if participant.withdrawals.contains(where: {
                    $0.section.map { $0 == (section.id, section.remoteTrackID) } ?? false
                }) {
                    waiting = []
                }
            }
            guard let track = waiting.first else { continue }
            track.transceiver = section.id
            track.info.mid = section.mid ?? ""
            if let id = section.remoteTrackID, !track.clientIDs.contains(id), !track.info.codecs.isEmpty {
                track.info.codecs[0].sdpCid = id
            }
            let preferences = track.codecPreferences
            _ = try? media.withMachine(of: connection.id) { machine throws(PeerError) in
                try machine.setCodecPreferences(preferences, of: section.id)
            }
        }
    }

    /// Publishes the tracks whose sections were answered, once media can flow: nobody is told of, or subscribed to,
    /// what its publisher may never be able to send.
    func publishBoundTracks(of participant: Participant, at now: Instant) {
        guard participant.hasBeenActive, let connection = participant.publisher, connection.hasBeenConnected else {
            return
        }
        guard participant.changes.count < Self.maximumChanges else {
            participant.changes.hasUnpublished = true
            return
        }
        var published: [Track] = []
        for track in participant.tracks where track.publication == nil {
            guard let id = track.transceiver else { continue }
            guard let description = describe(track, on: connection),
                let publication = try? media.publish(on: id, of: connection.id, description, at: now)
            else {
                // There is no codec in common: the client sees it in the answer.
                track.transceiver = nil
                continue
            }
            track.publication = publication
            byPublication[publication] = track
            if track.info.muted { try? media.setMuted(true, publication, at: now) }
            published.append(track)
        }
        guard !published.isEmpty else { return }
        participant.changes.count += 1
        // The others know of a track before its media are offered to them.
        tellOf(participant)
        for track in published {
            tell(webhook: "track_published", participant, track, at: now)
            for other in people where other !== participant { introduce(track, to: other, at: now) }
        }
    }

    /// What a track's section was answered with; nil when there is no codec in common.
    func describe(
        _ track: Track, on connection: Connection, sent format: PayloadFormat? = nil
    ) -> PublicationDescription? {
        guard let id = track.transceiver else { return nil }
        let parameters = media.withMachine(of: connection.id) { machine in
            machine.transceivers.first { $0.id == id }?.receiveParameters
        }
        return (parameters ?? nil).flatMap { track.describe($0, sent: format) }
    }

    /// A publisher's encoder has gone over to another of the agreed codecs: the track goes on under its name, and those
    /// who have it are offered it anew. Who changes it again and again has to wait like with all that everybody is
    /// told.
    func codecChanged(_ publication: PublicationID, to format: PayloadFormat, at now: Instant) {
        guard let track = byPublication[publication], track.publication == publication else { return }
        let publisher = track.publisher
        guard publisher.changes.count < Self.maximumChanges, let connection = publisher.publisher,
            let description = describe(track, on: connection, sent: format)
        else { return }
        fallSilent(track, at: now)
        let paused = people.filter { $0.subscriptions[track.sid]?.pause?.isPaused == true }
        for other in people { unsubscribe(other, from: track.sid, at: now) }
        guard let new = try? media.republish(publication, description, at: now) else { return }
        byPublication[publication] = nil
        byPublication[new] = track
        track.publication = new
        track.recovered = 0
        tellOfChange(of: publisher)
        for other in people where other !== publisher { considerSubscribing(other, to: track, at: now) }
        // It flows until it is seen that it does not fit either; clients take it for the track that was paused.
        for other in paused {
            guard let subscription = other.subscriptions[track.sid] else { continue }
            subscription.pause = (false, now)
            send(.streamStateUpdate(.with { $0.streamStates = [subscription.streamState] }), to: other)
        }
    }

    // MARK: Muting

    func mute(_ request: LiveKitMuteTrackRequest, by participant: Participant, at now: Instant) {
        guard let track = participant.tracks.first(where: { $0.sid.rawValue == request.sid }) else {
            return refuse(.notFound, .mute(request), "there is no such track", to: participant)
        }
        track.serverMute = nil
        setMuted(request.muted, track, at: now)
    }

    func setMuted(_ isMuted: Bool, _ track: Track, at now: Instant) {
        guard track.info.muted != isMuted else { return }
        track.info.muted = isMuted
        guard let publication = track.publication else { return }
        try? media.setMuted(isMuted, publication, at: now)
        tellOfChange(of: track.publisher)
    }

    func updateAudio(_ request: LiveKitUpdateLocalAudioTrack, of participant: Participant, at now: Instant) {
        guard let track = participant.tracks.first(where: { $0.sid.rawValue == request.trackSid }) else {
            return refuse(.notFound, .updateAudioTrack(request), "there is no such track", to: participant)
        }
        let features = Array(Set(request.features)).sorted { $0.rawValue < $1.rawValue }
        guard track.kind == .audio, track.info.audioFeatures != features,
            features.count <= LiveKitAudioTrackFeature.allCases.count
        else { return }
        track.info.audioFeatures = features
        // As older clients have it.
        track.info.stereo = features.contains(.tfStereo)
        track.info.disableDtx = features.contains(.tfNoDtx)
        if track.publication != nil { tellOfChange(of: participant) }
    }

    func updateVideo(_ request: LiveKitUpdateLocalVideoTrack, of participant: Participant, at now: Instant) {
        guard let track = participant.tracks.first(where: { $0.sid.rawValue == request.trackSid }) else {
            return refuse(.notFound, .updateVideoTrack(request), "there is no such track", to: participant)
        }
        guard (track.info.width, track.info.height) != (request.width, request.height) else { return }
        track.info.width = request.width
        track.info.height = request.height
        if track.publication != nil { tellOfChange(of: participant) }
    }

    // MARK: Ending

    /// A track is over, published or not. Whoever needs to know is to be told afterwards.
    func end(_ track: Track, at now: Instant) {
        let participant = track.publisher
        // As long as it is known who hears it.
        fallSilent(track, at: now)
        participant.tracks.removeAll { $0 === track }
        tracks[track.sid] = nil
        for other in people {
            other.wishes[track.sid] = nil
            other.unsupported[track.sid] = nil
            other.hints[track.sid] = nil
            other.postponed.removeAll { $0 == track.sid }
            guard other.subscriptions.removeValue(forKey: track.sid) != nil else { continue }
            if !other.sees(participant) { tellSpeech(of: participant, to: other, at: now) }
            if let connection = other.subscriber { negotiate(connection) }
        }
        guard let publication = track.publication else { return }
        byPublication[publication] = nil
        track.publication = nil
        try? media.unpublish(publication, at: now)
        tell(webhook: "track_unpublished", participant, track, at: now)
    }

    /// The server takes a track away from its publisher.
    func withdraw(_ track: Track, at now: Instant) {
        let participant = track.publisher
        let section = track.transceiver.flatMap { id in
            participant.publisher.flatMap { connection in
                media.withMachine(of: connection.id) { machine in machine.transceivers.first { $0.id == id } } ?? nil
            }
        }
        end(track, at: now)
        if participant.withdrawals.count == Withdrawal.maximum { participant.withdrawals.removeFirst() }
        participant.withdrawals.append(
            Withdrawal(sid: track.sid, at: now, section: section.map { ($0.id, $0.remoteTrackID) }))
        send(.trackUnpublished(.with { $0.trackSid = track.sid.rawValue }), to: track.publisher)
    }
}

extension SessionDescription {
    /// Whether the peer whose offer this is sends in a transceiver's section.
    fileprivate func sends(_ transceiver: Transceiver) -> Bool {
        guard let index = transceiver.mLineIndex, media.indices.contains(index), !media[index].isRejected else {
            return false
        }
        return direction(ofSection: index).sends
    }
}
