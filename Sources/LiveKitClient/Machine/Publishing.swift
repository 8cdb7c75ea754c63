internal import LiveKitProtocol
internal import RTCEngine
internal import RTCWire
internal import SwiftProtobuf

/// What we publish, over all connections.
struct Publishing {
    enum Step: Equatable {
        /// The peer connection is making a sender for it.
        case adding
        /// It was announced to the server, or will be once that hears us, and there is no answer.
        case announced(until: Instant)
        case published
    }

    struct Track {
        let id: LocalTrackID
        let format: PayloadFormat
        let options: TrackPublishOptions
        var step = Step.adding
        /// Its name in our offer, by which the server is told of it; nil until it has a sender.
        var cid: String?
        var info: LiveKitTrackInfo?
        /// Its last sid: kept while it is published again in a new session.
        var lastSID: TrackSID?
        var isMuted: Bool
        /// Somebody takes it, or nothing was said of that.
        var isWanted = true
        /// The request to publish it; nil once that is completed.
        var request: RequestID?
    }

    var tracks: [Track] = []
    /// Who may subscribe to our tracks; nil where the application has not said.
    var permissions: LiveKitSubscriptionPermission?

    var deadline: Instant? {
        tracks.compactMap { if case .announced(let until) = $0.step { until } else { nil } }.min()
    }

    func place(of id: LocalTrackID) -> Int? { tracks.firstIndex { $0.id == id } }
    func place(of sid: TrackSID) -> Int? { tracks.firstIndex { $0.info?.sid == sid.rawValue } }

    mutating func takeRequests() -> [RequestID] {
        defer { for place in tracks.indices { tracks[place].request = nil } }
        return tracks.compactMap(\.request)
    }
}

extension RoomClientMachine {
    /// Publishes a track. `request` is completed when the server has accepted it and given it a sid, or not.
    mutating func publish(
        _ id: LocalTrackID, _ format: PayloadFormat, _ options: TrackPublishOptions, request: RequestID
    ) {
        guard isInRoom else { return put(.complete(request, .failure(.notConnected))) }
        guard self.options.encryption == nil || FrameCryptor.canSeal(format) else {
            return put(.complete(request, .failure(.notEncryptable)))
        }
        publishing.tracks.append(
            Publishing.Track(
                id: id, format: format, options: options, isMuted: options.isMuted, request: request))
        // Otherwise `publishAgain` adds it, with the others, to the connections of the new session.
        if mediaExists { put(.media(.addTrack(id, format))) }
    }

    private var mediaExists: Bool {
        switch phase {
        case .connected, .connecting, .signaling(.resume, _), .waiting(.resume, _): true
        case .idle, .signaling, .waiting, .disconnected: false
        }
    }

    /// Publishes all tracks once more, in a new session.
    mutating func publishAgain() {
        everythingIsWanted()
        for place in publishing.tracks.indices {
            publishing.tracks[place].step = .adding
            publishing.tracks[place].cid = nil
            publishing.tracks[place].info = nil
            put(.media(.addTrack(publishing.tracks[place].id, publishing.tracks[place].format)))
        }
    }

    mutating func trackAdded(_ id: LocalTrackID, cid: String, at now: Instant) {
        guard let place = publishing.place(of: id) else { return }
        publishing.tracks[place].cid = cid
        publishing.tracks[place].step = .announced(until: now + Self.answerTimeout)
        var announcement = publishing.tracks[place].announcement(cid: cid)
        if options.encryption != nil { announcement.encryption = .gcm }
        say(.addTrack(announcement))
    }

    mutating func trackPublished(_ published: LiveKitTrackPublishedResponse, at now: Instant) {
        guard let place = publishing.tracks.firstIndex(where: { $0.cid == published.cid }),
            published.hasTrack
        else { return }
        let isNew = publishing.tracks[place].step != .published
        publishing.tracks[place].info = published.track
        publishing.tracks[place].lastSID = TrackSID(published.track.sid)
        publishing.tracks[place].step = .published
        let track = publishing.tracks[place]
        // The offer that has the track follows the server's answer to the announcement.
        negotiatePublisher(at: now)
        guard isNew else { return }
        let sid = TrackSID(published.track.sid)
        if let request = track.request {
            publishing.tracks[place].request = nil
            put(.complete(request, .success(.published(sid))))
        }
        put(.tell(.localTrackPublished(sid, name: track.options.name)))
        // It may have been muted or unmuted before the server had given it the sid that a request needs.
        if track.isMuted != published.track.muted { sayMuted(sid, track.isMuted) }
    }

    mutating func trackRefused(_ id: LocalTrackID, _ why: String) {
        if let place = publishing.place(of: id) { publishingFailed(place, .media(why)) }
    }

    private mutating func publishingFailed(_ place: Int, _ error: RoomError) {
        let track = publishing.tracks.remove(at: place)
        put(.media(.removeTrack(track.id)))
        if let request = track.request {
            put(.complete(request, .failure(error)))
        } else if let sid = track.lastSID {
            // It was published in the session before: the application has to be told that it no longer is.
            put(.tell(.localTrackUnpublished(sid)))
        }
    }

    mutating func publishingTimePassed(at now: Instant) {
        // Some servers refuse a track without an answer, so we give up after ten seconds, as LiveKit's SDKs do. The
        // time in which the connection is down does not count.
        while let place = publishing.tracks.firstIndex(where: {
            if case .announced(let until) = $0.step { until <= now } else { false }
        }) {
            guard isSignalOpen else {
                publishing.tracks[place].step = .announced(until: now + Self.answerTimeout)
                continue
            }
            publishingFailed(place, .timedOut)
        }
    }

    /// Withdraws a track. The protocol has no request for that: the next offer lacks the track.
    mutating func unpublish(_ id: LocalTrackID, at now: Instant) {
        guard let place = publishing.place(of: id) else { return }
        let track = publishing.tracks.remove(at: place)
        if let request = track.request { put(.complete(request, .failure(.notConnected))) }
        put(.media(.removeTrack(id)))
        if negotiation.hasOffered { negotiatePublisher(at: now) }
        if let sid = track.lastSID { put(.tell(.localTrackUnpublished(sid))) }
    }

    /// The server has ended a track of ours.
    mutating func trackUnpublished(_ sid: TrackSID, at now: Instant) {
        guard let place = publishing.place(of: sid) else { return }
        unpublish(publishing.tracks[place].id, at: now)
    }

    mutating func setMuted(_ id: LocalTrackID, _ isMuted: Bool) {
        guard let place = publishing.place(of: id), publishing.tracks[place].isMuted != isMuted else { return }
        publishing.tracks[place].isMuted = isMuted
        guard let sid = publishing.tracks[place].info?.sid else { return }
        publishing.tracks[place].info?.muted = isMuted
        sayMuted(TrackSID(sid), isMuted)
    }

    private mutating func sayMuted(_ sid: TrackSID, _ isMuted: Bool) {
        say(
            .mute(
                .with {
                    $0.sid = sid.rawValue
                    $0.muted = isMuted
                }))
    }

    mutating func serverMuted(_ sid: TrackSID, _ isMuted: Bool) {
        guard let place = publishing.place(of: sid), publishing.tracks[place].isMuted != isMuted else { return }
        publishing.tracks[place].isMuted = isMuted
        publishing.tracks[place].info?.muted = isMuted
        put(.tell(.localTrackMuted(sid, isMuted: isMuted)))
    }

    /// Up to which quality anybody wants a track of ours (dynacast). It has one layer, which is for all qualities.
    mutating func qualitiesWanted(_ update: LiveKitSubscribedQualityUpdate) {
        guard options.dynacast, let place = publishing.place(of: TrackSID(update.trackSid)) else { return }
        let codec = publishing.tracks[place].format.codecName
        let qualities: [LiveKitSubscribedQuality]
        if update.subscribedCodecs.isEmpty {
            // Servers of before there were several codecs.
            qualities = update.subscribedQualities
        } else if let ours = update.subscribedCodecs.first(where: { $0.codec.lowercased() == codec }) {
            qualities = ours.qualities
        } else {
            return
        }
        setWanted(place, qualities.contains(where: \.enabled))
    }

    /// A connection begins: what nobody wanted on the last one may be wanted now, which nothing would say.
    mutating func everythingIsWanted() {
        for place in publishing.tracks.indices { setWanted(place, true) }
    }

    private mutating func setWanted(_ place: Int, _ isWanted: Bool) {
        guard publishing.tracks[place].isWanted != isWanted else { return }
        publishing.tracks[place].isWanted = isWanted
        put(.wanted(publishing.tracks[place].id, isWanted))
        guard let sid = publishing.tracks[place].lastSID else { return }
        put(.tell(.localTrackWanted(sid, isWanted: isWanted)))
    }

    /// Who may subscribe to our tracks: everybody, or those who are named.
    mutating func setTrackPermissions(allowing identities: [ParticipantIdentity]?) {
        publishing.permissions = .with {
            $0.allParticipants = identities == nil
            $0.trackPermissions = (identities ?? []).map { identity in
                .with {
                    $0.participantIdentity = identity.rawValue
                    $0.allTracks = true
                }
            }
        }
        sayPermissions()
    }

    /// Sends the permissions. The server forgets them with the session, so each connection begins with them, and they
    /// do not wait for one.
    mutating func sayPermissions() {
        if let permissions = publishing.permissions { sayNow(.subscriptionPermission(permissions)) }
    }

    /// The server has answered a request: it has done it, or refuses it.
    mutating func requestAnswered(_ response: LiveKitRequestResponse) {
        guard let refusal = RequestRefusal(response.reason) else {
            if case .updateMetadata? = response.request {
                requests.answered(response.requestID).map { put(.complete($0, .success(.done))) }
            }
            return
        }
        let error = RoomError.requestRefused(refusal, message: response.message)
        switch response.request {
        case .addTrack(let announced)?:
            guard let place = publishing.tracks.firstIndex(where: { $0.cid == announced.cid }) else { return }
            publishingFailed(place, error)
        case .publishDataTrack(let refused)?: dataTrackRefused(refused, error)
        // The track was over before we asked to end it.
        case .unpublishDataTrack?: break
        case .updateMetadata?, .trickle?, .mute?, .updateAudioTrack?, .updateVideoTrack?, nil:
            if let request = requests.answered(response.requestID) { put(.complete(request, .failure(error))) }
        }
    }
}

extension Publishing.Track {
    /// The announcement of the track, which the server gets before the offer.
    fileprivate func announcement(cid: String) -> LiveKitAddTrackRequest {
        .with { request in
            request.cid = cid
            request.name = options.name
            request.type = format.isVideo ? .video : .audio
            request.source = options.source.message
            request.muted = isMuted
            guard format.isVideo else {
                request.disableRed = true
                if options.isStereo { request.audioFeatures = [.tfStereo] }
                return
            }
            request.width = UInt32(clamping: options.width)
            request.height = UInt32(clamping: options.height)
            let layer = LiveKitVideoLayer.with {
                $0.quality = .high
                $0.width = UInt32(clamping: options.width)
                $0.height = UInt32(clamping: options.height)
                $0.bitrate = UInt32(clamping: options.bitrate)
            }
            request.layers = [layer]
            request.simulcastCodecs = [
                .with {
                    $0.codec = format.codecName
                    $0.cid = cid
                    $0.layers = [layer]
                }
            ]
        }
    }
}

extension PayloadFormat {
    /// As LiveKit's SDKs write it.
    var codecName: String {
        switch self {
        case .h264: "h264"
        case .h265: "h265"
        case .vp8: "vp8"
        case .vp9: "vp9"
        case .av1: "av1"
        case .opus: "opus"
        case .pcmu: "pcmu"
        case .pcma: "pcma"
        }
    }
}
