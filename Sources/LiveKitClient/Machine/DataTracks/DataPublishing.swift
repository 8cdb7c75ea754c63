internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// The data tracks that we publish, over all connections.
struct DataPublishing {
    enum Step: Equatable {
        /// The server was asked to publish it, and has not answered.
        case requested(until: Instant)
        case published(TrackSID)
    }

    struct Track {
        let name: String
        var packetizer: DataTrackPacketizer
        var step: Step
        /// The request to publish it; nil once that is completed.
        var request: RequestID?

        /// Its number in our packets and in requests to the server.
        var handle: UInt16 { packetizer.handle }
    }

    var tracks: [Track] = []
    private var lastHandle: UInt16 = 0

    var deadline: Instant? {
        tracks.compactMap { if case .requested(let until) = $0.step { until } else { nil } }.min()
    }

    func place(of handle: UInt16) -> Int? { tracks.firstIndex { $0.handle == handle } }

    /// A handle that no track of ours has; one that was freed is used again as late as possible. Nil where all are
    /// taken.
    mutating func nextHandle() -> UInt16? {
        guard tracks.count < UInt16.max else { return nil }
        repeat { lastHandle &+= 1 } while lastHandle == 0 || place(of: lastHandle) != nil
        return lastHandle
    }
}

extension RoomClientMachine {
    /// Publishes a data track. `request` is completed when the server has accepted it and given it a sid, or not.
    mutating func publishDataTrack(_ name: String, handle: UInt16, request: RequestID, at now: Instant) {
        guard isInRoom else { return put(.complete(request, .failure(.notConnected))) }
        guard options.encryption == nil else { return put(.complete(request, .failure(.notEncryptable))) }
        let packetizer = DataTrackPacketizer(handle: handle, firstTimestamp: makeTimestamp(), at: now)
        dataPublishing.tracks.append(
            DataPublishing.Track(
                name: name, packetizer: packetizer, step: .requested(until: now + Self.answerTimeout),
                request: request))
        announceDataTrack(name, handle)
        // The data channels are on the publishing connection, which is made by its first offer.
        if !negotiation.hasOffered { negotiatePublisher(at: now) }
    }

    private mutating func announceDataTrack(_ name: String, _ handle: UInt16) {
        say(
            .publishDataTrackRequest(
                .with {
                    $0.pubHandle = UInt32(handle)
                    $0.name = name
                }))
    }

    /// Publishes all data tracks once more, in a new session, under the same handles.
    mutating func publishDataTracksAgain(at now: Instant) {
        for place in dataPublishing.tracks.indices {
            dataPublishing.tracks[place].step = .requested(until: now + Self.answerTimeout)
            let track = dataPublishing.tracks[place]
            announceDataTrack(track.name, track.handle)
        }
    }

    mutating func dataTrackPublished(_ info: LiveKitDataTrackInfo) {
        guard let handle = UInt16(exactly: info.pubHandle), let place = dataPublishing.place(of: handle),
            case .requested = dataPublishing.tracks[place].step
        else { return }
        let sid = TrackSID(info.sid)
        dataPublishing.tracks[place].step = .published(sid)
        put(.localDataTrack(handle, sid))
        if let request = dataPublishing.tracks[place].request {
            dataPublishing.tracks[place].request = nil
            put(.complete(request, .success(.published(sid))))
        }
    }

    /// The server refuses a data track.
    mutating func dataTrackRefused(_ refused: LiveKitPublishDataTrackRequest, _ error: RoomError) {
        guard let handle = UInt16(exactly: refused.pubHandle), let place = dataPublishing.place(of: handle),
            case .requested = dataPublishing.tracks[place].step
        else { return }
        dataTrackFailed(place, error)
    }

    private mutating func dataTrackFailed(_ place: Int, _ error: RoomError) {
        let track = dataPublishing.tracks.remove(at: place)
        put(.localDataTrack(track.handle, nil))
        if let request = track.request { put(.complete(request, .failure(error))) }
    }

    /// The server has ended a data track of ours.
    mutating func dataTrackUnpublished(_ info: LiveKitDataTrackInfo) {
        guard let handle = UInt16(exactly: info.pubHandle), let place = dataPublishing.place(of: handle),
            case .published = dataPublishing.tracks[place].step
        else { return }
        dataPublishing.tracks.remove(at: place)
        put(.localDataTrack(handle, nil))
    }

    mutating func unpublishDataTrack(_ handle: UInt16) {
        guard let place = dataPublishing.place(of: handle) else { return }
        dataTrackFailed(place, .dataTrackEnded)
        sayUnpublished(handle)
    }

    private mutating func sayUnpublished(_ handle: UInt16) {
        say(.unpublishDataTrackRequest(.with { $0.pubHandle = UInt32(handle) }))
    }

    mutating func dataPublishingTimePassed(at now: Instant) {
        while let place = dataPublishing.tracks.firstIndex(where: {
            if case .requested(let until) = $0.step { until <= now } else { false }
        }) {
            // The time in which the connection is down does not count.
            guard isSignalOpen else {
                dataPublishing.tracks[place].step = .requested(until: now + Self.answerTimeout)
                continue
            }
            let handle = dataPublishing.tracks[place].handle
            dataTrackFailed(place, .timedOut)
            // The server may publish it later, when we no longer know of it.
            sayUnpublished(handle)
        }
    }

    /// The room is over.
    mutating func endLocalDataTracks(because error: RoomError) {
        while !dataPublishing.tracks.isEmpty { dataTrackFailed(0, error) }
    }

    /// Sends a frame to those who have subscribed. In a new session it is passed over until the track is published
    /// there.
    mutating func push(_ frame: DataTrackFrame, on handle: UInt16, at now: Instant) throws(RoomError) {
        guard let place = dataPublishing.place(of: handle) else { throw .dataTrackEnded }
        let packets = try dataPublishing.tracks[place].packetizer.packets(of: frame, at: now)
        guard case .published = dataPublishing.tracks[place].step else { return }
        switch data.admit(frame: packets) {
        case .now: put(.sendFrame(packets))
        // A frame that is too large to wait is dropped, as frames may be that are lost on the way.
        case .later, .full: break
        }
    }

    /// Our published data tracks, as the server has confirmed them, for `syncState`.
    var publishedDataTracks: [LiveKitPublishDataTrackResponse] {
        dataPublishing.tracks.compactMap { track in
            guard case .published(let sid) = track.step else { return nil }
            let info = LiveKitDataTrackInfo.with {
                $0.sid = sid.rawValue
                $0.pubHandle = UInt32(track.handle)
                $0.name = track.name
            }
            return .with { $0.info = info }
        }
    }
}
