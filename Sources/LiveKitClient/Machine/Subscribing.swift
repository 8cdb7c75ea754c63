internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// What we receive, and what we have asked for.
struct Subscribing {
    /// What was asked for by name, against what `autoSubscribe` says of all.
    var wanted: [TrackSID: Bool] = [:]
    /// What was asked for of each, nil where nothing is wanted for now.
    var qualities: [TrackSID: VideoQuality?] = [:]
    /// As the server's last offer has them.
    var streams: [RemoteStream] = []
    /// Those of them that belong to a track that we know of.
    var subscribed: [TrackSID: TransceiverID] = [:]

    mutating func takeAll() -> [TrackSID] {
        defer { (streams, subscribed) = ([], [:]) }
        return subscribed.keys.sorted { $0.rawValue < $1.rawValue }
    }
}

extension RoomClientMachine {
    /// Asks for a track, or says that it is not wanted any more.
    mutating func setSubscribed(_ isSubscribed: Bool, to sid: TrackSID) {
        subscribing.wanted[sid] = isSubscribed
        guard let (_, participant) = roster.track(sid) else { return }
        say(
            .subscription(
                .with {
                    $0.trackSids = [sid.rawValue]
                    $0.subscribe = isSubscribed
                    $0.participantTracks = [
                        .with {
                            $0.participantSid = participant.sid.rawValue
                            $0.trackSids = [sid.rawValue]
                        }
                    ]
                }))
    }

    /// Which size of a picture is wanted; nil for none, though it stays subscribed.
    mutating func setQuality(_ sid: TrackSID, _ quality: VideoQuality?) {
        subscribing.qualities.updateValue(quality, forKey: sid)
        say(
            .trackSetting(
                .with {
                    $0.trackSids = [sid.rawValue]
                    $0.disabled = quality == nil
                    $0.quality = quality?.message ?? .high
                }))
    }

    /// In a new session everybody's tracks have the names that they had, unless they came anew.
    mutating func subscriptionsBeginAnew() {
        for (sid, isWanted) in subscribing.wanted.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            setSubscribed(isWanted, to: sid)
        }
        for (sid, quality) in subscribing.qualities.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where roster.track(sid) != nil {
            setQuality(sid, quality)
        }
    }

    /// What the server sends after an exchange of descriptions.
    mutating func streamsChanged(_ streams: [RemoteStream]) {
        subscribing.streams = streams
        for (sid, transceiver) in subscribing.subscribed.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where !streams.contains(where: { $0.trackSID == sid && $0.transceiver == transceiver }) {
            // It may have come in another section, with another codec.
            subscribing.subscribed[sid] = nil
            put(.unsubscribed(sid))
        }
        matchStreams()
    }

    /// Media may come before the server tells whose it is, and waits for that.
    mutating func matchStreams() {
        for stream in subscribing.streams {
            guard let sid = stream.trackSID, subscribing.subscribed[sid] == nil, roster.track(sid) != nil else {
                continue
            }
            subscribing.subscribed[sid] = stream.transceiver
            put(.subscribed(sid))
        }
    }

    /// The track is over.
    mutating func unsubscribed(_ sid: TrackSID) {
        guard subscribing.subscribed.removeValue(forKey: sid) != nil else { return }
        subscribing.streams.removeAll { $0.trackSID == sid }
        put(.unsubscribed(sid))
    }
}
