import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

/// Who gets which track.
extension RoomMachine {
    /// What was asked for by name, or else what the client has asked for in general.
    private func wants(_ participant: Participant, _ track: Track) -> Bool {
        (participant.wishes[track.sid] ?? participant.autoSubscribe) && mayHaveCodec(participant, track)
    }

    /// A codec that the client is known to lack is still to be told to it, once.
    private func mayHaveCodec(_ participant: Participant, _ track: Track) -> Bool {
        version(of: track, for: participant) != nil
            || track.format.map { participant.unsupported[track.sid]?.contains($0) == true } == false
    }

    func maySubscribe(_ participant: Participant, _ track: Track) -> Bool {
        participant.grants.maySubscribe && !participant.mode.isPublishing && !track.publisher.isHidden
            && track.publisher !== participant && track.publisher.subscribers.allow(participant, track.sid)
    }

    /// Begins or ends a subscription, if what is wanted and allowed has changed.
    func considerSubscribing(_ participant: Participant, to track: Track, at now: Instant) {
        if participant.mode.isPlaying {
            // It may have room for this one, or have to give it up.
            if let connection = participant.subscriber { negotiate(connection) }
            return
        }
        let isWanted = track.publication != nil && wants(participant, track) && maySubscribe(participant, track)
        let version = isWanted ? version(of: track, for: participant) : nil
        note(participant, waitsFor: track, version != nil && version?.publication == nil)
        if let former = participant.subscriptions[track.sid], former.version !== version || !isWanted {
            unsubscribe(participant, from: track.sid, at: now)
        }
        guard isWanted, participant.subscriptions[track.sid] == nil else { return }
        guard let version else { return subscriptionFailed(participant, to: track, track.primary, at: now) }
        if version.publication != nil { subscribe(participant, to: track, version, at: now) }
    }

    /// A track is new to somebody, or asked for: they are sent it, or told that its publisher does not let them have
    /// it.
    func introduce(_ track: Track, to participant: Participant, at now: Instant) {
        considerSubscribing(participant, to: track, at: now)
        tellRefusal(of: track, to: participant)
    }

    func subscribeToAll(_ participant: Participant, at now: Instant) {
        for other in people where other !== participant {
            for track in other.published { introduce(track, to: participant, at: now) }
            for track in other.dataTracks { introduce(track, to: participant) }
        }
    }

    private func subscribe(
        _ participant: Participant, to track: Track, _ version: TrackVersion, at now: Instant
    ) {
        let subscription = SubscribedTrack(track, version)
        let wasSeen = participant.sees(track.publisher)
        participant.subscriptions[track.sid] = subscription
        renewHints(of: participant, for: track)
        if !wasSeen { tellSpeech(of: track.publisher, to: participant, at: now) }
        switch participant.mode {
        case .dual:
            makeSubscriber(for: participant, at: now)
            guard let connection = participant.subscriber else { return }
            attach(subscription, to: connection, on: nil, at: now)
            negotiate(connection)
        case .single:
            // Before there is a connection its first offer is awaited.
            if let connection = participant.subscriber { negotiate(connection) }
        case .exchange: break
        }
    }

    /// Pictures of which a client that adapts has said nothing are the smallest at first, and those that it has hidden
    /// come when they begin anew: SDKs say how they show one when that changes, as LiveKit's server has it.
    private func renewHints(of participant: Participant, for track: Track) {
        guard participant.isAdaptive, track.kind == .video else { return }
        var hints = participant.hints[track.sid] ?? SubscriberHints(quality: .low)
        hints.isDisabled = false
        participant.hints[track.sid] = hints
    }

    /// Sends a track over a connection, in a section that the client has offered or in one of the room's.
    func attach(
        _ subscription: SubscribedTrack, to connection: Connection, on section: TransceiverID?, at now: Instant
    ) {
        let (participant, track) = (connection.participant, subscription.track)
        guard let publication = subscription.version.publication else { return }
        do throws(RoomError) {
            subscription.transceiver = try media.subscribe(
                connection.id, to: publication,
                streamID: streamID(of: track, on: connection), trackID: track.sid.rawValue,
                on: section, continuing: participant.mode.isPlaying, inPlaceOf: track.publication,
                hints: participant.hints[track.sid] ?? SubscriberHints(), at: now)
        } catch {
            let isCodec = error == .peer(.negotiation(.unknownCodec))
            return subscriptionFailed(
                participant, to: track, subscription.version, because: isCodec ? .seCodecUnsupported : .seUnknown,
                at: now)
        }
    }

    /// What a client tells tracks apart by: the second part of it, or the track's own id where that names a stream of
    /// several tracks. Those whose tracks have ids of the browser's own get each track in a stream of its own; so does
    /// everybody when a section has to carry it that may have carried another one.
    private func streamID(of track: Track, on connection: Connection) -> String {
        let sections = media.withMachine(of: connection.id) { $0.transceivers.count } ?? 0
        let isInStep =
            connection.participant.playsInStep(configuration) && sections < configuration.limits.transceivers
        return "\(track.publisher.sid.rawValue)|\(isInStep ? track.info.streamName : track.sid.rawValue)"
    }

    func unsubscribe(_ participant: Participant, from sid: TrackSID, at now: Instant) {
        guard let subscription = participant.subscriptions.removeValue(forKey: sid) else { return }
        if !participant.sees(subscription.track.publisher) {
            tellSpeech(of: subscription.track.publisher, to: participant, at: now)
        }
        guard let connection = participant.subscriber, subscription.transceiver != nil,
            let publication = subscription.version.publication
        else { return }
        try? media.unsubscribe(connection.id, from: publication, at: now)
        negotiate(connection)
    }

    /// Without a codec, the track's other one is tried, and neither again unless the client asks for it; without a
    /// section, once there is one.
    private func subscriptionFailed(
        _ participant: Participant, to track: Track, _ version: TrackVersion,
        because error: LiveKitSubscriptionError = .seCodecUnsupported, at now: Instant
    ) {
        if error == .seCodecUnsupported {
            if let format = version.format { participant.unsupported[track.sid, default: []].insert(format) }
        } else if !participant.postponed.contains(track.sid) {
            participant.postponed.append(track.sid)
        }
        unsubscribe(participant, from: track.sid, at: now)
        if error == .seCodecUnsupported, self.version(of: track, for: participant) != nil {
            return considerSubscribing(participant, to: track, at: now)
        }
        send(
            .subscriptionResponse(
                .with {
                    $0.trackSid = track.sid.rawValue
                    $0.err = error
                }), to: participant)
    }

    /// Once descriptions are agreed: a section that was to carry a track and does not has no codec for it.
    func checkSubscriptions(on connection: Connection, at now: Instant) {
        let agreed = media.withMachine(of: connection.id) { machine -> [TransceiverID: Bool] in
            guard let ours = machine.localDescription?.sdp else { return [:] }
            var agreed: [TransceiverID: Bool] = [:]
            for transceiver in machine.transceivers {
                // Those that were not described yet are no failure.
                guard let index = transceiver.mLineIndex, ours.media.indices.contains(index) else { continue }
                let isSent = transceiver.currentDirection?.sends == true
                if isSent || ours.direction(ofSection: index).sends { agreed[transceiver.id] = isSent }
            }
            return agreed
        }
        let known = media.withMachine(of: connection.id) { Set($0.transceivers.map(\.id)) } ?? []
        let participant = connection.participant
        for subscription in participant.subscriptions.values.sorted(by: {
            $0.track.sid.rawValue < $1.track.sid.rawValue
        }) {
            guard let transceiver = subscription.transceiver else { continue }
            let track = subscription.track
            switch agreed?[transceiver] {
            case true?: break
            case false?: subscriptionFailed(participant, to: track, subscription.version, at: now)
            case nil:
                // Rejected, it is gone.
                if !known.contains(transceiver) {
                    subscriptionFailed(participant, to: track, subscription.version, at: now)
                }
            }
        }
        tellSubscribed(on: connection, at: now)
    }

    /// Tells publishers, once a track, that somebody has it: publishers that wait for this begin to play then, so that
    /// media have to be able to flow. Of those who are hidden nobody is told, as in LiveKit.
    func tellSubscribed(on connection: Connection, at now: Instant) {
        let participant = connection.participant
        guard connection.state == .connected, !participant.isHidden else { return }
        let sending =
            media.withMachine(of: connection.id) { machine in
                Set(machine.transceivers.filter { $0.currentDirection?.sends == true }.map(\.id))
            } ?? []
        let tracks = participant.subscriptions.values.compactMap { subscription in
            subscription.transceiver.map { sending.contains($0) } == true ? subscription.track : nil
        }
        for track in tracks.sorted(by: { $0.sid.rawValue < $1.sid.rawValue }) where track.subscriptionToldAt == nil {
            // Also to a client that is away, when it comes back.
            track.subscriptionToldAt = now
            tellSubscribed(track)
        }
    }

    func tellSubscribed(_ track: Track) {
        send(.trackSubscribed(.with { $0.trackSid = track.sid.rawValue }), to: track.publisher)
    }

    /// Tries those again for which there was no section, as far as there is one now.
    func subscribePostponed(on connection: Connection, at now: Instant) {
        let participant = connection.participant
        guard !participant.postponed.isEmpty else { return }
        let used = Set(participant.subscriptions.values.compactMap(\.transceiver))
        var free =
            media.withMachine(of: connection.id) { machine in
                machine.transceivers.filter { $0.currentDirection == .inactive && !used.contains($0.id) }.map(\.kind)
            } ?? []
        for sid in participant.postponed {
            guard let track = tracks[sid], let place = free.firstIndex(of: track.kind) else { continue }
            participant.postponed.removeAll { $0 == sid }
            considerSubscribing(participant, to: track, at: now)
            if participant.subscriptions[sid] != nil { free.remove(at: place) }
        }
    }

    // MARK: What clients ask for

    /// So many tracks that are not there are answered of one request: it may name a hundred thousand.
    static let maximumRefusals = 100

    /// - Parameter isRepeated: a client that is back says what it had; what is gone meanwhile is no fault.
    func updateSubscription(
        _ names: [String], isWanted: Bool, of participant: Participant, isRepeated: Bool = false, at now: Instant
    ) {
        var refusals = 0
        var seen: Set<String> = []
        // Each once: a request may name one a hundred thousand times.
        for name in names where seen.insert(name).inserted {
            let sid = TrackSID(rawValue: name)
            guard let track = tracks[sid], track.publisher !== participant else {
                guard !isRepeated, isWanted, refusals < Self.maximumRefusals else { continue }
                refusals += 1
                send(
                    .subscriptionResponse(
                        .with {
                            $0.trackSid = name
                            $0.err = .seTrackNotfound
                        }), to: participant)
                continue
            }
            participant.wishes[sid] = isWanted
            // It has been told that it cannot have it.
            if version(of: track, for: participant) == nil { participant.unsupported[sid] = nil }
            introduce(track, to: participant, at: now)
            // It was told that it cannot have it.
            let mayHave = isWanted && track.publication != nil && maySubscribe(participant, track)
            if mayHave, participant.subscriptions[sid] == nil { refusals += 1 }
        }
    }

    /// How a client shows tracks (adaptive stream).
    func takeSettings(_ settings: LiveKitUpdateTrackSettings, of participant: Participant, at now: Instant) {
        let hasSize = settings.width > 0 || settings.height > 0
        let hints = SubscriberHints(
            isDisabled: settings.disabled, width: Int(settings.width), height: Int(settings.height),
            framesPerSecond: Int(settings.fps),
            // A client that tells a size leaves the quality at its default, which is the lowest.
            quality: hasSize ? .high : VideoQuality(settings.quality), priority: Int(settings.priority))
        for track in known(settings.trackSids) { setHints(hints, for: track.sid, of: participant, at: now) }
    }

    /// The tracks that are there, each once: a request may name one a hundred thousand times.
    func known(_ names: [String]) -> [Track] {
        var seen: Set<TrackSID> = []
        return names.compactMap { tracks[TrackSID(rawValue: $0)] }.filter { seen.insert($0.sid).inserted }
    }

    func setHints(_ hints: SubscriberHints, for sid: TrackSID, of participant: Participant, at now: Instant) {
        participant.hints[sid] = hints
        guard let subscription = participant.subscriptions[sid], subscription.transceiver != nil,
            let connection = participant.subscriber, let publication = subscription.version.publication
        else { return }
        try? media.setHints(hints, of: connection.id, for: publication, at: now)
    }

    /// Whether somebody could have a track, if its publisher lets them.
    func isConcerned(_ other: Participant, withPermissionOf track: Track) -> Bool {
        other !== track.publisher && !track.publisher.isHidden && other.grants.maySubscribe && wants(other, track)
    }

    /// Clients take it for allowed what they have heard nothing of, and what they ask for.
    func tellRefusal(of track: Track, to other: Participant) {
        guard track.publication != nil, isConcerned(other, withPermissionOf: track),
            !track.publisher.subscribers.allow(other, track.sid)
        else { return }
        tellPermission(of: track, to: other)
    }

    func tellPermission(of track: Track, to other: Participant) {
        tellPermission(of: track.sid, by: track.publisher, to: other)
    }

    func tellPermission(of track: TrackSID, by publisher: Participant, to other: Participant) {
        send(
            .subscriptionPermissionUpdate(
                .with {
                    $0.participantSid = publisher.sid.rawValue
                    $0.trackSid = track.rawValue
                    $0.allowed = publisher.subscribers.allow(other, track)
                }), to: other)
    }

    /// Whom a publisher lets subscribe. Everybody's subscriptions may begin and end with it: of more than
    /// `maximumChanges` in an interval the last one holds, from its end on.
    func takePermission(_ permission: LiveKitSubscriptionPermission, of participant: Participant, at now: Instant) {
        let rule = SubscriberRule(permission, among: people)
        guard participant.changes.count < Self.maximumChanges else {
            participant.changes.rule = rule
            return
        }
        allow(rule, of: participant, at: now)
    }

    func allow(_ rule: SubscriberRule, of participant: Participant, at now: Instant) {
        let before = participant.subscribers
        participant.subscribers = rule
        // Nobody has anything of those whom nobody sees, or is to hear of them.
        guard participant.subscribers != before, !participant.isHidden else { return }
        participant.changes.count += 1
        participant.subscribersSince = now
        for track in participant.published {
            for other in people where isConcerned(other, withPermissionOf: track) {
                let isAllowed = participant.subscribers.allow(other, track.sid)
                guard isAllowed != before.allow(other, track.sid) else { continue }
                tellPermission(of: track, to: other)
                considerSubscribing(other, to: track, at: now)
            }
        }
        for track in participant.dataTracks {
            for other in people where isConcerned(other, withPermissionOf: track) {
                guard rule.allow(other, track.sid) != before.allow(other, track.sid) else { continue }
                tellPermission(of: track.sid, by: participant, to: other)
                considerSubscribing(other, to: track)
            }
        }
    }
}

extension SubscriberRule {
    /// So many people and tracks a publisher may name; nobody beyond them is let in.
    static let maximumNames = 4_096

    /// - Parameter people: who is in the room now. A session stands for whoever has it, in later ones too; one that is
    ///   over for nobody.
    init(_ permission: LiveKitSubscriptionPermission, among people: [Participant]) {
        guard !permission.allParticipants else {
            self = .everybody
            return
        }
        var identities: [String: String] = [:]
        if permission.trackPermissions.contains(where: \.participantIdentity.isEmpty) {
            for participant in people { identities[participant.sid.rawValue] = participant.identity }
        }
        var left = Self.maximumNames
        var named: [String: Tracks] = [:]
        // Of several for one person the last counts, as in LiveKit.
        for entry in permission.trackPermissions where left > 0 {
            let tracks = entry.trackSids.prefix(left).map { TrackSID(rawValue: $0) }
            left -= tracks.count + 1
            let identity =
                entry.participantIdentity.isEmpty ? identities[entry.participantSid] : entry.participantIdentity
            guard let identity else { continue }
            named[identity] = Tracks(includesAll: entry.allTracks, sids: Set(tracks))
        }
        self = .named(named)
    }

    func allow(_ participant: Participant, _ track: TrackSID) -> Bool {
        switch self {
        case .everybody: true
        case .named(let named): named[participant.identity]?.contains(track) == true
        }
    }
}
