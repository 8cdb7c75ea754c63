import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore

/// Players: those who are sent a room's tracks in the sections that they have offered once and for all. What is in a
/// section changes without their being told.
extension RoomMachine {
    /// Answers a player's offer with everything that might be sent, for it is told of nothing later.
    func answer(_ offer: SessionDescription, toPlayer connection: Connection, at now: Instant) throws(PeerError) {
        try media.withMachine(of: connection.id) { machine throws(PeerError) in
            try machine.setRemoteDescription(.offer, offer, at: now)
            for transceiver in machine.transceivers {
                // One stream: sound and pictures belong together.
                try machine.setStreams([sid], of: transceiver.id)
                try machine.setDirection(.sendonly, of: transceiver.id, at: now)
            }
            try machine.setLocalDescription(.answer, try machine.createAnswer(), at: now)
            connection.sections = machine.transceivers.map { transceiver in
                PlayedSection(
                    transceiver: transceiver.id, kind: transceiver.kind,
                    formats: transceiver.sendParameters?.codecs.compactMap(\.payloadFormat) ?? [])
            }
        }
        negotiate(connection)
    }

    /// Gives each section that carries nothing the first track that it may have, and takes away what may not be had any
    /// more.
    func fillSections(of connection: Connection, at now: Instant) {
        let participant = connection.participant
        guard case .exchange(.playing(let choice)) = participant.mode else { return }
        for (sid, subscription) in participant.subscriptions where !mayPlay(participant, subscription.track, choice) {
            unsubscribe(participant, from: sid, at: now)
        }
        var hasChanged = false
        // Others may have gone over to a track's second codec.
        for subscription in participant.subscriptions.values {
            let track = subscription.track
            guard let section = connection.sections.first(where: { $0.transceiver == subscription.transceiver }),
                let version = version(of: track, for: participant, in: section), version !== subscription.version
            else { continue }
            unsubscribe(participant, from: track.sid, at: now)
            play(track, version, choice, in: section, of: connection, at: now)
            hasChanged = true
        }
        connection.needsNegotiation = false
        let taken = Set(participant.subscriptions.values.compactMap(\.transceiver))
        media.withMachine(of: connection.id) { machine in
            // What carries nothing at present stays as it was answered.
            for section in connection.sections where !taken.contains(section.transceiver) {
                try? machine.setDirection(.sendonly, of: section.transceiver, at: now)
            }
        }
        var free = connection.sections.filter { !taken.contains($0.transceiver) }[...]
        // Looked for once: there may be hundreds of sections, and of tracks.
        var tracks = free.isEmpty ? [] : playable(by: participant, choice)
        var unfilled: [PlayedSection] = []
        while let section = free.popFirst(), !tracks.isEmpty {
            guard let track = nextTrack(for: section, among: &tracks, of: participant),
                let version = version(of: track, for: participant, in: section)
            else {
                unfilled.append(section)
                continue
            }
            play(track, version, choice, in: section, of: connection, at: now)
            hasChanged = true
        }
        // Only now: what another section has is not awaited.
        var awaited: Set<TrackSID> = []
        for section in unfilled {
            let next = tracks.first { !awaited.contains($0.sid) && isAwaitable($0, by: participant, in: section) }
            if let next { awaited.insert(next.sid) }
        }
        for track in people.flatMap(\.tracks) where track.backup != nil {
            note(participant, waitsFor: track, awaited.contains(track.sid))
        }
        guard hasChanged else { return }
        agreeAgain(on: connection, at: now)
        checkSubscriptions(on: connection, at: now)
    }

    private func play(
        _ track: Track, _ version: TrackVersion, _ choice: PlaybackChoice, in section: PlayedSection,
        of connection: Connection, at now: Instant
    ) {
        let participant = connection.participant
        let subscription = SubscribedTrack(track, version)
        participant.subscriptions[track.sid] = subscription
        if choice.quality != .high { participant.hints[track.sid] = SubscriberHints(quality: choice.quality) }
        attach(subscription, to: connection, on: section.transceiver, at: now)
    }

    private func mayPlay(_ participant: Participant, _ track: Track, _ choice: PlaybackChoice) -> Bool {
        choice.includes(track) && track.publication != nil && participant.wishes[track.sid] != false
            && version(of: track, for: participant) != nil && maySubscribe(participant, track)
    }

    /// What a player may have and has not, in the order in which people came and published.
    private func playable(by participant: Participant, _ choice: PlaybackChoice) -> [Track] {
        people.flatMap(\.published).filter {
            participant.subscriptions[$0.sid] == nil && mayPlay(participant, $0, choice)
        }
    }

    /// Takes out the first that fits. One of somebody of whom the player has something already goes before others': a
    /// picture is to have its own sound.
    private func nextTrack(
        for section: PlayedSection, among tracks: inout [Track], of participant: Participant
    ) -> Track? {
        let seen = Set(participant.subscriptions.values.map { ObjectIdentifier($0.track.publisher) })
        var first: Int?
        for (place, track) in tracks.enumerated()
        where track.kind == section.kind && version(of: track, for: participant, in: section) != nil {
            if seen.contains(ObjectIdentifier(track.publisher)) { return tracks.remove(at: place) }
            if first == nil { first = place }
        }
        return first.map { tracks.remove(at: $0) }
    }

    /// A second codec that does not come yet is left out: another track can be played meanwhile.
    private func version(
        of track: Track, for participant: Participant, in section: PlayedSection
    ) -> TrackVersion? {
        versions(of: track, for: participant).first { version in
            version.publication != nil && version.format.map { section.formats.contains($0) } == true
        }
    }

    /// Whether a section that nothing else comes in could have a track once its publisher makes the second codec.
    private func isAwaitable(_ track: Track, by participant: Participant, in section: PlayedSection) -> Bool {
        versions(of: track, for: participant).contains { version in
            version === track.backup && version.publication == nil
                && version.announced.map { section.formats.contains($0) } == true
        }
    }

    /// Both sides keep to the descriptions that they have, but of the codecs in them one is meant now. The player need
    /// not hear of it, for it takes them all.
    private func agreeAgain(on connection: Connection, at now: Instant) {
        let offer = media.withMachine(of: connection.id) { $0.remoteDescription?.sdp }
        guard let offer = offer ?? nil, (try? agree(on: offer, connection, at: now)) != nil else {
            return negotiationFailed(connection.participant, at: now)
        }
    }
}

/// A section in which a player is sent something.
struct PlayedSection {
    let transceiver: TransceiverID
    let kind: MediaKind
    /// That the player takes in it.
    let formats: [PayloadFormat]
}

extension PlaybackChoice {
    fileprivate func includes(_ track: Track) -> Bool {
        if let identity, track.publisher.identity != identity { return false }
        if !tracks.isEmpty, !tracks.contains(track.sid) { return false }
        let named = sources.filter { $0.kind == track.kind }
        return named.isEmpty || named.contains(track.info.source)
    }
}

extension LiveKitTrackSource {
    fileprivate var kind: MediaKind {
        switch self {
        case .microphone, .screenShareAudio: .audio
        case .camera, .screenShare, .unknown, .UNRECOGNIZED: .video
        }
    }
}
