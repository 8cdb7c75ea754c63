import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore

/// Backup codecs of LiveKit: one track in two codecs. The client announces both, sends the second when it is told that
/// somebody cannot take the first (`tellQuality`), and says beforehand in another request by which id it comes.
extension RoomMachine {
    // MARK: Coming and ending

    /// A client says that the second codec of a track is to come. It never asks again after a refusal.
    func announceBackup(_ request: LiveKitAddTrackRequest, of participant: Participant) {
        guard let track = participant.tracks.first(where: { $0.sid.rawValue == request.sid }) else {
            return refuse(.notFound, .addTrack(request), "there is no such track", to: participant)
        }
        guard let backup = track.backup,
            let codec = request.simulcastCodecs.first(where: { $0.videoFormat == backup.announced })
        else {
            return refuse(.invalidRequest, .addTrack(request), "the track was announced without it", to: participant)
        }
        let ids = [codec.cid.isEmpty ? request.cid : codec.cid, request.cid]
        // Browsers say nothing of sizes here: those of the track count then.
        let layers = codec.layers.contains { $0.width > 0 } ? codec.layers : []
        if backup.transceiver == nil {
            backup.clientIDs = ids
            track.info.codecs[backup.place].cid = ids[0]
            if !layers.isEmpty { track.info.codecs[backup.place].layers = layers }
        } else if ids != backup.clientIDs {
            // An announcement comes before its offer, which is also the one in which the section that there is ends.
            // One that is only repeated, of what is there, announces nothing that is to come.
            (backup.nextIDs, backup.nextLayers) = (ids, layers)
        }
        tellPublished(track, as: request.cid)
    }

    /// The second codec of a track can be had, or not any more: each gets the one that is right now.
    func backupChanged(of track: Track, at now: Instant) {
        // While it is there its publisher is told of it as of any other.
        if track.asksForBackup != nil { track.asksForBackup = false }
        for other in people where other !== track.publisher { considerSubscribing(other, to: track, at: now) }
    }

    /// Sections of second codecs that no longer send; the tracks go on in their first one.
    func endBackups(of participant: Participant, sending: [TransceiverID], at now: Instant) {
        for track in participant.tracks {
            guard let backup = track.backup, let id = backup.transceiver, !sending.contains(id) else { continue }
            let subscribers = people.filter { $0.subscriptions[track.sid]?.version === backup }
            let paused = subscribers.filter { $0.isPaused(track) }
            for other in subscribers { unsubscribe(other, from: track.sid, at: now) }
            if let publication = backup.publication {
                byPublication[publication] = nil
                try? media.unpublish(publication, at: now)
            }
            if !backup.nextLayers.isEmpty { track.info.codecs[backup.place].layers = backup.nextLayers }
            backup.end()
            track.info.codecs[backup.place].cid = backup.clientIDs.first ?? ""
            track.info.codecs[backup.place].sdpCid = ""
            track.info.codecs[backup.place].mid = ""
            track.isRegressed = false
            backupChanged(of: track, at: now)
            tellFlowing(track, to: paused, at: now)
        }
    }

    // MARK: Who has it

    /// In which codec somebody gets a track: the first that it is not known to lack; nil when there is none.
    func version(of track: Track, for participant: Participant) -> TrackVersion? {
        versions(of: track, for: participant).first
    }

    /// All in which somebody can have a track, as far as is known, the one that they are to have first.
    func versions(of track: Track, for participant: Participant) -> [TrackVersion] {
        let lacking = participant.unsupported[track.sid] ?? []
        return (track.isRegressed ? track.versions.reversed() : track.versions).filter { version in
            guard let format = version.format ?? version.announced else { return true }
            return !lacking.contains(format) && !participant.quirks.unplayable.contains(format)
                && !(format == .av1 && isInLayersUnseen(version, of: track, by: participant))
        }
    }

    /// Whether a client would get what it cannot put together, and could have the other codec.
    private func isInLayersUnseen(_ version: TrackVersion, of track: Track, by participant: Participant) -> Bool {
        track.backup != nil && participant.mode == .single && participant.quirks.needsDescriptors
            && track.info.codecs[version.place].layers.count > 1
    }

    /// Somebody can have a track in its second codec alone, which has not come yet; or not any more. The publisher is
    /// told at once that it is needed, and that it is not with the next reminders: one who asks for it and gives it up
    /// without end costs it no more than those.
    func note(_ participant: Participant, waitsFor track: Track, _ isWaiting: Bool) {
        guard track.waiting.contains(participant.sid) != isWaiting else { return }
        if isWaiting { track.waiting.insert(participant.sid) } else { track.waiting.remove(participant.sid) }
        guard isWaiting, track.asksForBackup != true else { return }
        track.remindersOfBackup = 0
        tellQuality(of: track)
    }

    /// Each `checkInterval`. That a second codec is needed is told a few times, and not too soon: browsers' SDKs drop
    /// what they hear of a track before its publishing is over for them.
    func remindOfBackups(of participant: Participant) {
        for track in participant.tracks {
            guard let backup = track.backup else { continue }
            if track.waiting.isEmpty {
                if track.asksForBackup == true { tellQuality(of: track) }
            } else if backup.clientIDs.isEmpty, track.remindersOfBackup < Self.mostReminders {
                track.remindersOfBackup += 1
                // Every second time, from the second one on.
                if track.remindersOfBackup.isMultiple(of: 2) { tellQuality(of: track) }
            }
        }
    }

    private static let mostReminders = 20

    // MARK: Regression

    /// In a room of fewer people a publisher that prefers it is spared the second encoder, as by LiveKit's server
    /// (`codec_regression_threshold`).
    private static let regressionThreshold = 5

    /// The first media have come. Of a track's second codec that may mean that everybody goes over to it, for good: its
    /// publisher has one encoder to run then.
    func mediaBegan(of publication: PublicationID, at now: Instant) {
        guard let track = byPublication[publication], track.backup?.publication == publication, !track.isRegressed,
            track.info.backupCodecPolicy.isRegression(among: people.count, below: Self.regressionThreshold)
        else { return }
        track.isRegressed = true
        let subscribers = people.filter {
            $0.subscriptions[track.sid]?.version === track.primary && version(of: track, for: $0) !== track.primary
        }
        let paused = subscribers.filter { $0.isPaused(track) }
        for other in subscribers { considerSubscribing(other, to: track, at: now) }
        tellFlowing(track, to: paused, at: now)
    }
}

extension LiveKitBackupCodecPolicy {
    fileprivate func isRegression(among people: Int, below threshold: Int) -> Bool {
        switch self {
        case .preferRegression, .UNRECOGNIZED: people < threshold
        case .regression: true
        case .simulcast: false
        }
    }
}
