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
        let layers: LayerNames
        var step = Step.adding
        /// Its name in our offer, by which the server is told of it; nil until it has a sender.
        var cid: String?
        var info: LiveKitTrackInfo?
        /// Its last sid: kept while it is published again in a new session.
        var lastSID: TrackSID?
        var isMuted: Bool
        /// The best quality in which anybody takes it; nil: nobody does.
        var wanted: VideoQuality? = .high
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
        guard let layers = LayerNames(options.layers), format.isVideo || layers.qualities.isEmpty else {
            return put(.complete(request, .failure(.invalidLayers)))
        }
        // LiveKit's server looks for the key frames of such layers in what is encrypted, and would switch anywhere.
        guard options.layers.isEmpty || format != .vp9 || self.options.encryption == nil else {
            return put(.complete(request, .failure(.notEncryptable)))
        }
        let track = Publishing.Track(
            id: id, format: format, options: options, layers: layers, isMuted: options.isMuted, request: request)
        publishing.tracks.append(track)
        // Otherwise `publishAgain` adds it, with the others, to the connections of the new session.
        if mediaExists { add(track) }
    }

    private mutating func add(_ track: Publishing.Track) {
        put(.media(.addTrack(track.id, track.format, track.layers.encodings)))
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
            add(publishing.tracks[place])
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

    /// Up to which quality anybody wants a track of ours (dynacast).
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
        let wanted = qualities.filter(\.enabled).compactMap { VideoQuality($0.quality) }.max()
        // What is encoded once is for all qualities.
        let isOne = publishing.tracks[place].layers.qualities.isEmpty
        setWanted(place, isOne ? wanted.map { _ in .high } : wanted)
    }

    /// A connection begins: what nobody wanted on the last one may be wanted now, which nothing would say.
    mutating func everythingIsWanted() {
        for place in publishing.tracks.indices { setWanted(place, .high) }
    }

    private mutating func setWanted(_ place: Int, _ quality: VideoQuality?) {
        guard publishing.tracks[place].wanted != quality else { return }
        publishing.tracks[place].wanted = quality
        put(.wanted(publishing.tracks[place].id, quality))
        guard let sid = publishing.tracks[place].lastSID else { return }
        put(.tell(.localTrackWanted(sid, quality: quality)))
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
            let layers = self.videoLayers
            if let largest = layers.last { (request.width, request.height) = (largest.width, largest.height) }
            request.layers = layers
            request.simulcastCodecs = [
                .with {
                    $0.codec = format.codecName
                    $0.cid = cid
                    $0.layers = layers
                    // Each a stream: in one of VP9 or AV1 all of them could be.
                    if layers.count > 1 { $0.videoLayerMode = .oneSpatialLayerPerStream }
                }
            ]
        }
    }

    /// From the smallest on.
    private var videoLayers: [LiveKitVideoLayer] {
        guard options.layers.isEmpty else {
            return options.layers.sorted { $0.quality < $1.quality }.map(\.message)
        }
        let whole = VideoLayer(
            quality: .high, width: options.width, height: options.height, bitrate: options.bitrate)
        return [whole.message]
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
