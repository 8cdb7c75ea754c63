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
        guard !request.cid.isEmpty, request.byteCountIsWithin(limits) else {
            return refuse(.invalidRequest, "the ids of a track are not as they should be")
        }
        // A second codec for a track that is there.
        guard request.sid.isEmpty else { return announceBackup(request, of: participant) }
        // It asks again while it waits.
        if let known = participant.tracks.first(where: { $0.publication == nil && $0.request.cid == request.cid }) {
            known.announcedAt = now
            return tellPublished(known, as: request.cid)
        }
        guard participant.tracks.count < limits.tracksPerParticipant else {
            return refuse(.limitExceeded, "too many tracks")
        }
        let sid = TrackSID(rawValue: random.sid(request.sidPrefix))
        let info = request.info(
            sid: sid, of: participant.quirks, backup: request.backup(from: participant.quirks))
        let track = Track(sid: sid, of: participant, request, info: info, at: now)
        participant.tracks.append(track)
        tracks[sid] = track
        tellPublished(track, as: request.cid)
        bindOfferedTracks(of: participant, at: now)
    }

    /// - Parameter cid: of the request that this answers.
    func tellPublished(_ track: Track, as cid: String) {
        send(
            .trackPublished(
                .with {
                    $0.cid = cid
                    $0.track = track.info
                }), to: track.publisher)
    }

    // MARK: Finding

    /// Tracks whose sections no longer send are over.
    func endTracks(of participant: Participant, missingIn offer: SessionDescription, at now: Instant) {
        guard let connection = participant.publisher else { return }
        let sending =
            media.withMachine(of: connection.id) { machine in
                machine.transceivers.filter { offer.sends($0) }.map(\.id)
            } ?? []
        let over = participant.tracks.filter { track in track.transceiver.map { !sending.contains($0) } ?? false }
        let isKnown = over.contains { $0.publication != nil }
        for track in over {
            noteRemains(of: track)
            end(track, at: now)
        }
        // What the client has understood to be over may come in the same section again.
        participant.remains.removeAll { !sending.contains($0.transceiver) }
        endBackups(of: participant, sending: sending, at: now)
        if isKnown { tellOfChange(of: participant) }
    }

    /// Finds those announced in the offer that was answered last: clients may offer a track before they announce it, as
    /// LiveKit's SDK for Android, which does both at once. By their ids alone: what another section sends may have been
    /// anything, and the next offer may name them.
    private func bindOfferedTracks(of participant: Participant, at now: Instant) {
        guard let connection = participant.publisher,
            let offer = media.withMachine(
                of: connection.id,
                { machine in
                    machine.signalingState == .stable ? machine.remoteDescription : nil
                }) ?? nil, offer.type == .offer
        else { return }
        bindTracks(of: participant, to: offer.sdp, byIDAlone: true)
        publishBoundTracks(of: participant, at: now)
    }

    /// Finds the announced tracks in an offer: by the track's id of the section, or else by kind and order.
    func bindTracks(of participant: Participant, to offer: SessionDescription, byIDAlone: Bool = false) {
        guard let connection = participant.publisher else { return }
        let taken = Set(participant.tracks.flatMap(\.versions).compactMap(\.transceiver))
        let sections =
            media.withMachine(of: connection.id) { machine in
                machine.transceivers.filter { offer.sends($0) && !taken.contains($0.id) }
            } ?? []
        let named = Set(sections.compactMap(\.remoteTrackID))
        for section in sections {
            let isOver = participant.remains.contains { $0 == (section.id, section.remoteTrackID) }
            // A client that announces anew what is over may end this section with the offer that is on its way.
            if isOver && byIDAlone { continue }
            // Second codecs last: clients offer each track before anything else of it.
            let tracks = participant.tracks.filter { $0.kind == section.kind }
            var waiting = tracks.map { (track: $0, version: $0.primary) }
            waiting += tracks.compactMap { track in track.backup.map { (track: track, version: $0) } }
            waiting.removeAll { !$0.version.isAwaited }
            if let match = waiting.first(where: { awaited in
                section.remoteTrackID.map { awaited.version.clientIDs.contains($0) } ?? false
            }) {
                waiting = [match]
            } else if byIDAlone {
                continue
            } else {
                // Not one that another section names.
                waiting.removeAll { awaited in awaited.version.clientIDs.contains { named.contains($0) } }
                // Nor one in place of what is over and still comes.
                if isOver { waiting = [] }
            }
            guard let (track, version) = waiting.first else { continue }
            version.transceiver = section.id
            version.mid = section.mid ?? ""
            if version === track.primary { track.info.mid = version.mid }
            if let id = section.remoteTrackID, !version.clientIDs.contains(id),
                track.info.codecs.indices.contains(version.place)
            {
                track.info.codecs[version.place].sdpCid = id
            }
            let preferences = track.codecPreferences(version, offered: offer.payloadFormats(of: section))
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
        let published = participant.tracks.filter { publish($0, $0.primary, on: connection, at: now) }
        let backups = participant.tracks.filter { track in
            guard let backup = track.backup, track.publication != nil else { return false }
            return publish(track, backup, on: connection, at: now)
        }
        guard !published.isEmpty || !backups.isEmpty else { return }
        participant.changes.count += 1
        // The others know of a track before its media are offered to them.
        if !published.isEmpty {
            tellOf(participant)
            launchPublisherAgents(for: participant)
        }
        for track in published {
            tell(webhook: "track_published", participant, track, at: now)
            for other in people where other !== participant { introduce(track, to: other, at: now) }
        }
        for track in backups {
            // All of it counts as made until somebody is found to want less: not if it was last said not to be needed.
            if track.asksForBackup == false { tellQuality(of: track) }
            backupChanged(of: track, at: now)
        }
    }

    /// - Returns: whether it has come about just now.
    private func publish(
        _ track: Track, _ version: TrackVersion, on connection: Connection, at now: Instant
    ) -> Bool {
        guard version.publication == nil, let id = version.transceiver else { return false }
        guard let description = describe(track, version, on: connection),
            let publication = try? media.publish(on: id, of: connection.id, description, at: now)
        else {
            // There is no codec in common: the client sees it in the answer.
            version.transceiver = nil
            return false
        }
        version.publication = publication
        byPublication[publication] = track
        if track.info.muted { try? media.setMuted(true, publication, at: now) }
        return true
    }

    /// What a track's section was answered with; nil when there is no codec in common.
    func describe(
        _ track: Track, _ version: TrackVersion, on connection: Connection, sent format: PayloadFormat? = nil
    ) -> PublicationDescription? {
        guard let id = version.transceiver else { return nil }
        let parameters = media.withMachine(of: connection.id) { machine in
            machine.transceivers.first { $0.id == id }?.receiveParameters
        }
        var description = (parameters ?? nil).flatMap { track.describe($0, of: version, sent: format) }
        if track.kind == .video { description?.playoutDelay = configuration.playoutDelay }
        return description
    }

    /// A publisher's encoder has gone over to another of the agreed codecs: the track goes on under its name, and those
    /// who have it are offered it anew. Who changes it again and again has to wait like with all that everybody is
    /// told.
    func codecChanged(_ publication: PublicationID, to format: PayloadFormat, at now: Instant) {
        guard let track = byPublication[publication], let version = track.version(of: publication) else { return }
        let publisher = track.publisher
        guard publisher.changes.count < Self.maximumChanges, let connection = publisher.publisher,
            let description = describe(track, version, on: connection, sent: format)
        else { return }
        fallSilent(track, at: now)
        let subscribers = people.filter { $0.subscriptions[track.sid]?.version === version }
        let paused = subscribers.filter { $0.isPaused(track) }
        for other in subscribers { unsubscribe(other, from: track.sid, at: now) }
        guard let new = try? media.republish(publication, description, at: now) else { return }
        byPublication[publication] = nil
        byPublication[new] = track
        version.publication = new
        version.recovered = 0
        tellOfChange(of: publisher)
        for other in people where other !== publisher { considerSubscribing(other, to: track, at: now) }
        tellFlowing(track, to: paused, at: now)
    }

    /// What was paused has begun anew: it flows until it is seen that it does not fit either, and clients take it for
    /// the track that was paused.
    func tellFlowing(_ track: Track, to subscribers: [Participant], at now: Instant) {
        for other in subscribers {
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
        guard track.publication != nil else { return }
        for publication in track.versions.compactMap(\.publication) {
            try? media.setMuted(isMuted, publication, at: now)
        }
        tellOfChange(of: track.publisher)
    }

    func updateAudio(_ request: LiveKitUpdateLocalAudioTrack, of participant: Participant) {
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

    func updateVideo(_ request: LiveKitUpdateLocalVideoTrack, of participant: Participant) {
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
        guard track.publication != nil else { return }
        for version in track.versions {
            guard let publication = version.publication else { continue }
            byPublication[publication] = nil
            version.publication = nil
            try? media.unpublish(publication, at: now)
        }
        tell(webhook: "track_unpublished", participant, track, at: now)
    }

    /// The server takes a track away from its publisher.
    func withdraw(_ track: Track, at now: Instant) {
        let participant = track.publisher
        noteRemains(of: track)
        end(track, at: now)
        if participant.withdrawals.count == Withdrawal.maximum { participant.withdrawals.removeFirst() }
        participant.withdrawals.append(Withdrawal(sid: track.sid, at: now))
        send(.trackUnpublished(.with { $0.trackSid = track.sid.rawValue }), to: track.publisher)
    }

    /// A track is about to end whose client may go on sending it, in both its codecs or in one.
    private func noteRemains(of track: Track) {
        let participant = track.publisher
        let ids = track.versions.compactMap(\.transceiver)
        let sections =
            participant.publisher.flatMap { connection in
                media.withMachine(of: connection.id) { machine in machine.transceivers.filter { ids.contains($0.id) } }
            } ?? []
        participant.remains.removeAll { ids.contains($0.transceiver) }
        participant.remains += sections.map { (transceiver: $0.id, remoteTrackID: $0.remoteTrackID) }
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

    /// How the media of a transceiver's section may be packed, what the peer likes best first.
    fileprivate func payloadFormats(of transceiver: Transceiver) -> [PayloadFormat] {
        guard let index = transceiver.mLineIndex, media.indices.contains(index) else { return [] }
        let section = media[index]
        let maps = section.all(SDP.RTPMap.self)
        let names = Dictionary(maps.map { ($0.payloadType, $0.encoding) }) { first, _ in first }
        var formats: [PayloadFormat] = []
        for type in section.payloadTypes {
            guard let format = names[type].flatMap(PayloadFormat.init(encodingName:)), !formats.contains(format) else {
                continue
            }
            formats.append(format)
        }
        return formats
    }
}
