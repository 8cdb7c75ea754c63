internal import LiveKitClient
internal import RTCEngine

/// What is printed of an event.
struct JoinLine {
    let event: String
    let sentence: String
    var fields: [String: JSONField] = [:]

    init(_ event: RoomEvent) {
        switch event {
        case .connected: self.init("connected", "Media can flow.")
        case .reconnecting: self.init("reconnecting", "The connection is lost; making it again.")
        case .reconnected: self.init("reconnected", "The connection is there again.")
        case .disconnected(let reason):
            self.init("disconnected", reason.sentence, ["reason": .text(reason.rawValue)])
        case .participantConnected(let who):
            self.init("participant_connected", "\(who.identity) is here.", Self.fields(who))
        case .participantDisconnected(let who):
            self.init("participant_disconnected", "\(who.identity) is gone.", Self.fields(who))
        case .trackPublished(let track, let who):
            self.init("track_published", "\(who.identity) publishes \(track.words).", Self.fields(track, who))
        case .trackUnpublished(let track, let who):
            self.init(
                "track_unpublished", "\(who.identity) no longer publishes \(track.words).", Self.fields(track, who))
        case .trackSubscribed(let track):
            self.init("track_subscribed", "Receiving \(track.words).", Self.fields(track))
        case .trackUnsubscribed(let track):
            self.init("track_unsubscribed", "No longer receiving \(track.words).", Self.fields(track))
        case .trackSubscriptionFailed(let sid, let failure):
            self.init(
                "track_subscription_failed", "The server does not give us the track \(sid): \(failure.rawValue).",
                ["track": .text(sid.rawValue), "reason": .text(failure.rawValue)])
        case .trackMuted(let track, let who):
            self.init("track_muted", "\(who.identity) has muted \(track.words).", Self.fields(track, who))
        case .trackUnmuted(let track, let who):
            self.init("track_unmuted", "\(who.identity) has unmuted \(track.words).", Self.fields(track, who))
        case .trackPaused(let sid, let isPaused):
            self.init(
                "track_paused", "The track \(sid) \(isPaused ? "pauses for want of bandwidth" : "goes on").",
                ["track": .text(sid.rawValue), "paused": .flag(isPaused)])
        case .subscriptionPermissionChanged(let sid, let isAllowed):
            self.init(
                "subscription_permission", "We may \(isAllowed ? "" : "not ")have the track \(sid).",
                ["track": .text(sid.rawValue), "allowed": .flag(isAllowed)])
        case .localTrackPublished(let sid, let name):
            self.init(
                "local_track_published", "\(name) is published.", ["track": .text(sid.rawValue), "name": .text(name)])
        case .localTrackUnpublished(let sid):
            self.init(
                "local_track_unpublished", "The track \(sid) of ours is no longer published.",
                ["track": .text(sid.rawValue)])
        case .localTrackWanted(let sid, let quality):
            self.init(
                "local_track_wanted",
                quality.map { "The track \(sid) of ours is taken, in \($0) quality at the most." }
                    ?? "Nobody takes the track \(sid) of ours: it waits.",
                ["track": .text(sid.rawValue), "quality": .text(quality?.rawValue ?? "off")])
        case .localTrackMuted(let sid, let isMuted):
            self.init(
                "local_track_muted", "The server has \(isMuted ? "muted" : "unmuted") the track \(sid) of ours.",
                ["track": .text(sid.rawValue), "muted": .flag(isMuted)])
        case .dataReceived(let data): self = Self.received(data)
        case .dataTrackPublished(let track):
            self.init(
                "data_track_published", "\(track.publisher) publishes the data track \(track.name).", Self.fields(track)
            )
        case .dataTrackUnpublished(let track):
            self.init(
                "data_track_unpublished", "\(track.publisher) no longer publishes the data track \(track.name).",
                Self.fields(track))
        case .activeSpeakersChanged(let speakers): self = Self.speaking(speakers.map(\.identity.rawValue))
        case .connectionQualityChanged(let who, let quality):
            self.init(
                "connection_quality", "The connection of \(who) is \(quality.rawValue).",
                ["participant": .text(who.rawValue), "quality": .text(quality.rawValue)])
        case .roomMetadataChanged(let metadata):
            self.init("room_metadata", "The room's metadata: \(metadata)", ["metadata": .text(metadata)])
        case .participantMetadataChanged(let who, let metadata):
            self.init(
                "participant_metadata", "Metadata of \(who): \(metadata)",
                ["participant": .text(who.rawValue), "metadata": .text(metadata)])
        case .participantNameChanged(let who, let name):
            self.init(
                "participant_name", "\(who) is called \(name).",
                ["participant": .text(who.rawValue), "name": .text(name)])
        case .participantAttributesChanged(let who, let attributes):
            self.init(
                "participant_attributes", "Attributes of \(who) have changed.",
                ["participant": .text(who.rawValue), "attributes": .object(attributes.mapValues { .text($0) })])
        case .permissionsChanged(let permissions):
            self.init("permissions", "What we may do has changed.", Self.fields(permissions))
        case .tokenRefreshed: self.init("token_refreshed", "The server has given us a newer token.")
        }
    }

    init(_ event: String, _ sentence: String, _ fields: [String: JSONField] = [:]) {
        self.event = event
        self.sentence = sentence
        self.fields = fields
    }

    private static func received(_ data: DataReceived) -> JoinLine {
        let text = String(decoding: data.payload, as: UTF8.self)
        var line = JoinLine(
            "data_received", "\(data.sender?.rawValue ?? "The server"): \(text)",
            ["text": .text(text), "reliable": .flag(data.isReliable)])
        if let sender = data.sender { line.fields["participant"] = .text(sender.rawValue) }
        if let topic = data.topic { line.fields["topic"] = .text(topic) }
        return line
    }

    private static func speaking(_ names: [String]) -> JoinLine {
        JoinLine(
            "active_speakers", names.isEmpty ? "Nobody speaks." : "Speaking: \(names.joined(separator: ", ")).",
            ["participants": .list(names.map { .text($0) })])
    }

    private static func fields(_ who: RemoteParticipant) -> [String: JSONField] {
        [
            "participant": .text(who.identity.rawValue), "participant_sid": .text(who.sid.rawValue),
            "name": .text(who.name),
        ]
    }

    static func fields(_ track: RemoteDataTrack) -> [String: JSONField] {
        [
            "participant": .text(track.publisher.rawValue), "track": .text(track.sid.rawValue),
            "name": .text(track.name), "encrypted": .flag(track.isEncrypted),
        ]
    }

    private static func fields(_ permissions: ParticipantPermissions) -> [String: JSONField] {
        [
            "can_publish": .flag(permissions.canPublish), "can_subscribe": .flag(permissions.canSubscribe),
            "can_publish_data": .flag(permissions.canPublishData),
        ]
    }

    private static func fields(_ track: RemoteTrack) -> [String: JSONField] {
        fields(track.publication, track.participant)
    }

    private static func fields(_ track: RemoteTrackPublication, _ who: RemoteParticipant) -> [String: JSONField] {
        [
            "participant": .text(who.identity.rawValue), "track": .text(track.sid.rawValue),
            "name": .text(track.name), "source": .text(track.source.rawValue), "kind": .text(track.kind.rawValue),
            "codec": .text(track.mimeType), "encrypted": .flag(track.isEncrypted),
        ]
    }
}

extension RemoteTrack {
    /// `camera of ann`.
    fileprivate var words: String { "\(publication.words) of \(participant.identity)" }
}

extension RemoteTrackPublication {
    /// `camera`, or the name that its publisher gave it.
    fileprivate var words: String { name.isEmpty ? source.rawValue : name }
}
