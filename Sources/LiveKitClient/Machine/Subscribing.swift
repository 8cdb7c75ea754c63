internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// What we receive, and what we have asked for.
struct Subscribing {
    /// Tracks that the application has subscribed to or unsubscribed from by name, whatever `autoSubscribe` says.
    var wanted: [TrackSID: Bool] = [:]
    /// The quality that the application has asked for; nil where it has turned the track off but stays subscribed.
    var qualities: [TrackSID: VideoQuality?] = [:]
    /// The streams in the server's last offer.
    var streams: [RemoteStream] = []
    /// Those of the streams whose track is known, and was told to the application.
    var subscribed: [TrackSID: TransceiverID] = [:]

    mutating func takeAll() -> [TrackSID] {
        defer { (streams, subscribed) = ([], [:]) }
        return subscribed.keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// Forgets what was asked for of a track.
    mutating func forget(_ sid: TrackSID) {
        wanted[sid] = nil
        qualities[sid] = nil
    }
}

extension RoomClientMachine {
    /// Asks for a track, or says that it is not wanted any more. Outside of a room it is said after the next `join`.
    mutating func setSubscribed(_ isSubscribed: Bool, to sid: TrackSID) {
        subscribing.wanted[sid] = isSubscribed
        guard isInRoom else { return }
        // A track that the server has not told of may be there all the same; otherwise it answers that there is none.
        let participant = roster.track(sid)?.participant
        say(
            .subscription(
                .with {
                    $0.trackSids = [sid.rawValue]
                    $0.subscribe = isSubscribed
                    guard let participant else { return }
                    $0.participantTracks = [
                        .with {
                            $0.participantSid = participant.sid.rawValue
                            $0.trackSids = [sid.rawValue]
                        }
                    ]
                }))
    }

    /// Which size of a picture is wanted; nil for none, though it stays subscribed. Outside of a room it is said after
    /// the next `join`.
    mutating func setQuality(_ sid: TrackSID, _ quality: VideoQuality?) {
        subscribing.qualities.updateValue(quality, forKey: sid)
        guard isInRoom else { return }
        say(
            .trackSetting(
                .with {
                    $0.trackSids = [sid.rawValue]
                    $0.disabled = quality == nil
                    $0.quality = quality?.message ?? .high
                }))
    }

    /// Asks at the beginning of a session, and again in a new one. Tracks have the same sids in that, unless their
    /// publishers have a new session too: what was asked for of those that are gone is forgotten by then.
    mutating func subscriptionsBeginAnew() {
        for (sid, isWanted) in subscribing.wanted.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            setSubscribed(isWanted, to: sid)
        }
        for (sid, quality) in subscribing.qualities.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            setQuality(sid, quality)
        }
    }

    /// What the server sends after an exchange of descriptions.
    mutating func streamsChanged(_ streams: [RemoteStream]) {
        subscribing.streams = streams
        for (sid, transceiver) in subscribing.subscribed.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where !streams.contains(where: { $0.trackSID == sid && $0.transceiver == transceiver }) {
            // Where the track is in another section now, with another codec, `matchStreams` finds it there.
            subscribing.subscribed[sid] = nil
            put(.unsubscribed(sid))
        }
        matchStreams()
    }

    /// Tells of streams whose track is known. A stream may be offered before the server has told of its publisher.
    mutating func matchStreams() {
        for stream in subscribing.streams {
            guard let sid = stream.trackSID, subscribing.subscribed[sid] == nil, roster.track(sid) != nil else {
                continue
            }
            subscribing.subscribed[sid] = stream.transceiver
            put(.subscribed(sid))
        }
    }

    /// The track is over, and with it what was asked for of it.
    mutating func unsubscribed(_ sid: TrackSID) {
        subscribing.forget(sid)
        guard subscribing.subscribed.removeValue(forKey: sid) != nil else { return }
        subscribing.streams.removeAll { $0.trackSID == sid }
        put(.unsubscribed(sid))
    }
}
