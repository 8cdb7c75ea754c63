import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf

/// What those who come back may have missed, beyond what everybody is told of everybody.
extension RoomMachine {
    /// Tells it again as it is now; what has not changed since then the client knows.
    func tellMissed(since time: Instant, to participant: Participant) {
        for track in participant.published {
            // Somebody may have begun to watch it.
            if track.kind == .video { tellQuality(of: track) }
            if let told = track.subscriptionToldAt, told >= time { tellSubscribed(track) }
            if let mute = track.serverMute, mute.at >= time { tellMute(mute.isMuted, of: track) }
        }
        for withdrawal in participant.withdrawals where withdrawal.at >= time {
            send(.trackUnpublished(.with { $0.trackSid = withdrawal.sid.rawValue }), to: participant)
        }
        if participant.lastDataHandle > 0 { tellHandles(to: participant) }
        let states = participant.subscriptions.values
            .filter { $0.pause.map { $0.at >= time } ?? false }
            .sorted { $0.track.sid.rawValue < $1.track.sid.rawValue }
        if !states.isEmpty {
            send(.streamStateUpdate(.with { $0.streamStates = states.map(\.streamState) }), to: participant)
        }
        // A client goes by the last change that it has heard of: silence is news, too, also of somebody of whom it has
        // nothing any more.
        let speakers = people.compactMap { speaker -> LiveKitSpeakerInfo? in
            var info = speaker.speakerInfo
            guard speaker.speechToldAt.map({ $0 >= time }) ?? false else { return nil }
            guard speaker !== participant, !participant.sees(speaker) else { return info }
            (info.level, info.active) = (0, false)
            return speaker.isHidden ? nil : info
        }
        if !speakers.isEmpty { send(.speakersChanged(.with { $0.speakers = speakers }), to: participant) }
        for other in people where other !== participant {
            let hasChanged = other.subscribersSince.map { $0 >= time } ?? false
            for track in other.published where isConcerned(participant, withPermissionOf: track) {
                // Of an older rule a newer track may be concerned.
                if hasChanged {
                    tellPermission(of: track, to: participant)
                } else {
                    tellRefusal(of: track, to: participant)
                }
            }
            for track in other.dataTracks where isConcerned(participant, withPermissionOf: track) {
                if hasChanged {
                    tellPermission(of: track.sid, by: other, to: participant)
                } else {
                    tellRefusal(of: track, to: participant)
                }
            }
        }
    }
}
