import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

/// What the media tell: who speaks, what is paused, what nobody wants.
extension RoomMachine {
    /// To those who hear somebody, and to that one: what has changed, silence among it.
    func tellSpeakers(_ changes: [RoomEvent.Speaker], at now: Instant) {
        var changed: [Participant] = []
        for change in changes {
            guard let track = byPublication[change.publication] else { continue }
            track.level = change.level
            if !changed.contains(where: { $0 === track.publisher }) { changed.append(track.publisher) }
        }
        tellLevels(of: changed, at: now)
    }

    /// A track that is over is not heard any more.
    func fallSilent(_ track: Track, at now: Instant) {
        guard track.level > 0 else { return }
        track.level = 0
        tellLevels(of: [track.publisher], at: now)
    }

    private func tellLevels(of speakers: [Participant], at now: Instant) {
        guard !speakers.isEmpty else { return }
        for speaker in speakers { speaker.speechToldAt = now }
        let told = speakers.map(\.speakerInfo)
        for listener in people {
            let heard = zip(speakers, told).filter { speaker, _ in
                speaker === listener || listener.sees(speaker)
            }.map(\.1)
            guard !heard.isEmpty else { continue }
            send(.speakersChanged(.with { $0.speakers = heard }), to: listener)
        }
    }

    /// A listener hears no more of the changes of somebody of whom it has nothing, and has heard of none before: what
    /// is true at either end is told it.
    func tellSpeech(of speaker: Participant, to listener: Participant, at now: Instant) {
        var info = speaker.speakerInfo
        guard info.active else { return }
        // Also to a client that is away, when it comes back.
        speaker.speechToldAt = now
        if !listener.sees(speaker) { (info.level, info.active) = (0, false) }
        send(.speakersChanged(.with { $0.speakers = [info] }), to: listener)
    }

    func tellStreamState(_ publication: PublicationID, _ subscriber: RoomPeerID, isPaused: Bool, at now: Instant) {
        guard let track = byPublication[publication], let participant = byPeer[subscriber]?.participant,
            let subscription = participant.subscriptions[track.sid],
            // It may have gone over to the track's other codec since.
            subscription.version.publication == publication
        else { return }
        subscription.pause = (isPaused, now)
        send(.streamStateUpdate(.with { $0.streamStates = [subscription.streamState] }), to: participant)
    }

    /// Tells a publisher up to which quality anybody wants a track (dynacast), in each of its codecs: clients go by the
    /// last word, and begin to make a second codec with it.
    func tellQuality(of track: Track) {
        let codecs = track.versions.compactMap { version in
            wanted(version, of: track).map { wanted in
                LiveKitSubscribedCodec.with {
                    $0.codec = version.codecName
                    $0.qualities = [LiveKitVideoQuality.low, .medium, .high].map { quality in
                        .with {
                            $0.quality = quality
                            $0.enabled = VideoQuality(quality) <= wanted
                        }
                    }
                }
            }
        }
        guard let first = codecs.first else { return }
        if track.asksForBackup != nil || !track.waiting.isEmpty { track.asksForBackup = !track.waiting.isEmpty }
        send(
            .subscribedQualityUpdate(
                .with {
                    $0.trackSid = track.sid.rawValue
                    $0.subscribedQualities = first.qualities
                    $0.subscribedCodecs = codecs
                }), to: track.publisher)
    }

    /// Nil where there is nothing to say of it: a second codec that nobody has needed yet.
    private func wanted(_ version: TrackVersion, of track: Track) -> VideoQuality? {
        if let publication = version.publication { return media.qualityWanted(of: publication) }
        guard version === track.backup, track.asksForBackup != nil || !track.waiting.isEmpty else { return nil }
        return track.waiting.isEmpty ? .off : .high
    }
}

extension TrackVersion {
    /// As clients name it: browsers' SDKs compare it letter by letter.
    fileprivate var codecName: String {
        publishedCodec.isEmpty ? announced?.encodingName.lowercased() ?? "" : publishedCodec
    }
}

extension Participant {
    /// How loud it is.
    var speakerInfo: LiveKitSpeakerInfo {
        let level = tracks.map(\.level).max() ?? 0
        return .with {
            $0.sid = sid.rawValue
            $0.level = Float(level)
            $0.active = level > 0
        }
    }

    /// Whether it is subscribed to anything of somebody's.
    func sees(_ other: Participant) -> Bool { other.tracks.contains { subscriptions[$0.sid] != nil } }

    /// Whether it was told last that it gets nothing of a track, for want of room on its path.
    func isPaused(_ track: Track) -> Bool { subscriptions[track.sid]?.pause?.isPaused == true }
}
