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
        connection.needsNegotiation = false
        let taken = Set(participant.subscriptions.values.compactMap(\.transceiver))
        media.withMachine(of: connection.id) { machine in
            // What carries nothing at present stays as it was answered.
            for section in connection.sections where !taken.contains(section.transceiver) {
                try? machine.setDirection(.sendonly, of: section.transceiver, at: now)
            }
        }
        var hasChanged = false
        for section in connection.sections where !taken.contains(section.transceiver) {
            guard let track = nextTrack(for: section, of: participant, choice) else { continue }
            let subscription = SubscribedTrack(track)
            participant.subscriptions[track.sid] = subscription
            if choice.quality != .high { participant.hints[track.sid] = SubscriberHints(quality: choice.quality) }
            attach(subscription, to: connection, on: section.transceiver, at: now)
            hasChanged = true
        }
        guard hasChanged else { return }
        agreeAgain(on: connection, at: now)
        checkSubscriptions(on: connection, at: now)
    }

    private func mayPlay(_ participant: Participant, _ track: Track, _ choice: PlaybackChoice) -> Bool {
        track.publication != nil && participant.wishes[track.sid] != false && choice.includes(track)
            && maySubscribe(participant, track)
    }

    /// The first that fits, in the order in which people came and published. One of somebody of whom the player has
    /// something already goes before others': a picture is to have its own sound.
    private func nextTrack(
        for section: PlayedSection, of participant: Participant, _ choice: PlaybackChoice
    ) -> Track? {
        let fitting = people.lazy.flatMap(\.published).filter { track in
            track.kind == section.kind && participant.subscriptions[track.sid] == nil
                && track.codec.map { section.formats.contains($0) } == true && self.mayPlay(participant, track, choice)
        }
        let seen = participant.subscriptions.values.map(\.track.publisher)
        return fitting.first { track in seen.contains { $0 === track.publisher } } ?? fitting.first
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

extension Track {
    fileprivate var codec: PayloadFormat? {
        MediaCodecs.all(kind).first { $0.mimeType == info.mimeType }?.payloadFormat
    }
}
