import LiveKitProtocol

@testable import LiveKitCore

/// What is said, as lines that read like the dialogue.
extension TestClient {
    func note(_ message: LiveKitSignalRequest.OneOf_Message) {
        let text: String? =
            switch message {
            case .offer: "offer"
            case .answer(let answer): "answer #\(answer.id)"
            case .addTrack(let request): "add_track \(request.name)"
            case .mute(let request): request.muted ? "mute" : "unmute"
            case .subscription(let request): request.subscribe ? "subscribe" : "unsubscribe"
            case .leave: "leave"
            case .updateMetadata: "update_metadata"
            case .publishDataTrackRequest(let request): "publish_data_track \(request.name)"
            case .unpublishDataTrackRequest: "unpublish_data_track"
            case .updateDataSubscription(let request):
                request.updates.map { $0.subscribe ? "subscribe" : "unsubscribe" }.joined(separator: ", ") + " to data"
            case .simulate: "simulate"
            case _: nil
            }
        if let text { lines.append("> \(text)") }
    }

    func note(_ response: LiveKitSignalResponse) {
        guard let message = response.message else { return }
        lines.append("< \(venue.named(text(of: message)))")
    }

    private func text(of message: LiveKitSignalResponse.OneOf_Message) -> String {
        switch message {
        case .join(let join):
            "join \(join.participant.identity)" + join.otherParticipants.map { " (\(text(of: $0)))" }.joined()
        case .answer(let answer): "answer" + map(answer)
        case .offer(let offer): "offer #\(offer.id)" + map(offer)
        case .update(let update): "update " + update.participants.map(text(of:)).joined(separator: ", ")
        case .trackPublished(let track): "track_published \(track.track.name)"
        case .leave(let leave): "leave \(leave.reason) \(leave.action)"
        case .mute(let mute): "mute \(mute.sid) \(mute.muted)"
        case .speakersChanged(let change):
            "speakers "
                + change.speakers.map { "\($0.sid) \($0.active ? "speaks" : "is silent")" }.joined(separator: ", ")
        case .roomUpdate(let update): "room_update \(update.room.metadata)"
        case .connectionQuality(let update):
            "quality " + update.updates.map { "\($0.participantSid) \($0.quality)" }.sorted().joined(separator: ", ")
        case .streamStateUpdate(let update):
            "stream_state " + update.streamStates.map { "\($0.trackSid) \($0.state)" }.joined(separator: ", ")
        case .subscribedQualityUpdate(let update):
            "subscribed_quality \(update.trackSid) "
                + update.subscribedCodecs.map { codec in
                    (update.subscribedCodecs.count > 1 ? "\(codec.codec): " : "")
                        + codec.qualities.filter(\.enabled).map { "\($0.quality)" }.joined(separator: " ")
                }.joined(separator: ", ")
        case .subscriptionPermissionUpdate(let update):
            "subscription_permission \(update.participantSid) \(update.trackSid) \(update.allowed)"
        case .refreshToken: "refresh_token"
        case .trackUnpublished(let track): "track_unpublished \(track.trackSid)"
        case .pong: "pong"
        case .reconnect(let response): "reconnect \(response.lastMessageSeq)"
        case .pongResp(let pong): "pong_resp \(pong.lastPingTimestamp)"
        case .subscriptionResponse(let response): "subscription_response \(response.trackSid) \(response.err)"
        case .requestResponse(let response): "request_response \(response.reason)"
        case .publishDataTrackResponse(let response): "publish_data_track \(response.info.name)"
        case .unpublishDataTrackResponse(let response): "unpublish_data_track \(response.info.name)"
        case .dataTrackSubscriberHandles(let handles):
            "data_track_handles "
                + handles.subHandles.sorted { $0.key < $1.key }
                .map { "\($0.key) \($0.value.publisherIdentity) \($0.value.trackSid)" }.joined(separator: ", ")
        case .trackSubscribed(let track): "track_subscribed \(track.trackSid)"
        case .mediaSectionsRequirement(let requirement):
            "media_sections \(requirement.numAudios) \(requirement.numVideos)"
        case _: "\(message)"
        }
    }

    private func map(_ description: LiveKitSessionDescription) -> String {
        let tracks = description.midToTrackID.values.map { venue.named($0) }.sorted()
        return tracks.isEmpty ? "" : " with " + tracks.joined(separator: ", ")
    }

    private func text(of participant: LiveKitParticipantInfo) -> String {
        let tracks =
            participant.tracks.map { $0.name + ($0.muted ? " muted" : "") } + participant.dataTracks.map(\.name)
        return "\(participant.identity) \(participant.state)"
            + (tracks.isEmpty ? "" : " [\(tracks.joined(separator: ", "))]")
    }

    /// The lines since the last time, for a test that goes step by step.
    func news() -> [String] {
        defer { lines = [] }
        return lines
    }
}
