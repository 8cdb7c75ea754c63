internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Our own name of somebody else's data track. It stays the same when the track gets another sid in a new session.
struct RemoteDataTrackID: Hashable, Sendable {
    let rawValue: UInt64
}

/// The data tracks of others, and what we have asked for of them.
struct DataSubscribing {
    enum Step {
        case unwanted
        /// The server was asked for it, and has not said which handle its packets have.
        case requested(until: Instant, [RequestID])
        case active
    }

    struct Track {
        let id: RemoteDataTrackID
        let publisher: ParticipantIdentity
        var info: LiveKitDataTrackInfo
        var step = Step.unwanted
        var assembler = DataTrackAssembler()
        /// Set when its publisher's session is over: by then it has to be published again in another one.
        var awaitedUntil: Instant?

        var isWanted: Bool {
            switch step {
            case .unwanted: false
            case .requested, .active: true
            }
        }

        /// When the request or the wait for its publisher is over, whichever is first.
        var deadline: Instant? {
            guard case .requested(let until, _) = step else { return awaitedUntil }
            return min(until, awaitedUntil ?? until)
        }

        /// Whether its publisher has not published it again in time.
        func isLate(at now: Instant) -> Bool { awaitedUntil.map { $0 <= now } ?? false }

        /// Whether its publisher, whose tracks are now `infos`, no longer publishes it. A track that is awaited may
        /// still come, unless another one has its name or its handle.
        func isOver(among infos: [LiveKitDataTrackInfo]) -> Bool {
            guard !infos.contains(where: { $0.isSameTrack(as: info) }) else { return false }
            return awaitedUntil == nil || infos.contains { $0.name == info.name || $0.pubHandle == info.pubHandle }
        }
    }

    private(set) var tracks: [TrackSID: Track] = [:]
    /// Which track packets with a handle belong to. The server chooses the handles.
    private var handles: [UInt16: TrackSID] = [:]
    private var lastID: UInt64 = 0

    var deadline: Instant? { tracks.values.compactMap(\.deadline).min() }

    /// The tracks that we have subscribed to, or asked for.
    var wanted: [TrackSID] { sorted { $0.isWanted } }

    func sorted(_ isIncluded: (Track) -> Bool) -> [TrackSID] {
        tracks.filter { isIncluded($0.value) }.keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// The sid that a track has now: its own, or another where it was published again under the same name.
    func sid(of track: RemoteDataTrack) -> TrackSID? {
        if tracks[track.sid] != nil { return track.sid }
        return tracks.first { $0.value.publisher == track.publisher && $0.value.info.name == track.name }?.key
    }

    func id(of track: RemoteDataTrack) -> RemoteDataTrackID? { sid(of: track).flatMap { tracks[$0]?.id } }

    func sid(of id: RemoteDataTrackID) -> TrackSID? { tracks.first { $0.value.id == id }?.key }

    /// The sid that a track had before its publisher published it again in a new session, where it keeps handle and
    /// name; nil where it is a new track.
    func predecessor(of info: LiveKitDataTrackInfo, by publisher: ParticipantIdentity) -> TrackSID? {
        tracks.first { $0.value.publisher == publisher && $0.value.info.isSameTrack(as: info) }?.key
    }

    mutating func add(_ info: LiveKitDataTrackInfo, of publisher: ParticipantIdentity) {
        lastID += 1
        tracks[TrackSID(info.sid)] = Track(id: RemoteDataTrackID(rawValue: lastID), publisher: publisher, info: info)
    }

    mutating func remove(_ sid: TrackSID) -> Track? {
        forgetHandle(of: sid)
        return tracks.removeValue(forKey: sid)
    }

    /// A track has a new sid. Packets of the old session do not fit to those of the new one, and are dropped.
    mutating func rename(_ sid: TrackSID, as info: LiveKitDataTrackInfo) {
        guard var track = remove(sid) else { return }
        track.info = info
        track.assembler = DataTrackAssembler()
        track.awaitedUntil = nil
        tracks[TrackSID(info.sid)] = track
    }

    /// - Parameter until: by when it has to be published again; nil once it is.
    mutating func setAwaited(_ sid: TrackSID, until: Instant?) { tracks[sid]?.awaitedUntil = until }

    mutating func move(_ sid: TrackSID, to step: Step) {
        tracks[sid]?.step = step
        if case .unwanted = step { forgetHandle(of: sid) }
    }

    mutating func forgetHandle(of sid: TrackSID) {
        for handle in handles.filter({ $0.value == sid }).keys { handles[handle] = nil }
    }

    /// Sets the handle of a track, in place of any that it had, and of any track that had the handle.
    mutating func setHandle(_ handle: UInt16, of sid: TrackSID) {
        guard handles[handle] != sid else { return }
        forgetHandle(of: sid)
        handles[handle] = sid
    }

    /// We are in a new session, which has other handles: unfinished frames are dropped.
    mutating func newSession() {
        handles = [:]
        for sid in tracks.keys { tracks[sid]?.assembler = DataTrackAssembler() }
    }

    /// Takes a packet.
    ///
    /// - Returns: the frame that it completes, of a track that we have subscribed to; nil otherwise.
    mutating func take(_ packet: DataTrackPacket) -> (RemoteDataTrackID, DataTrackFrame)? {
        // Only tracks that are not encrypted are subscribed to, so an encrypted packet is not of theirs.
        guard packet.encryption == nil, let sid = handles[packet.handle], let place = tracks.index(forKey: sid),
            case .active = tracks.values[place].step,
            let frame = tracks.values[place].assembler.take(packet)
        else { return nil }
        return (tracks.values[place].id, frame)
    }
}

extension LiveKitDataTrackInfo {
    fileprivate func isSameTrack(as other: LiveKitDataTrackInfo) -> Bool {
        sid == other.sid || pubHandle == other.pubHandle && name == other.name && encryption == other.encryption
    }
}

extension RoomClientMachine {
    // MARK: What there is

    /// The data tracks of a publisher are these now.
    mutating func dataTracksChanged(of publisher: ParticipantIdentity, to infos: [LiveKitDataTrackInfo]) {
        endDataTracks { $0.publisher == publisher && $0.isOver(among: infos) }
        for info in infos {
            let sid = TrackSID(info.sid)
            if let known = dataSubscribing.tracks[sid] {
                if known.awaitedUntil == nil { continue }
                dataSubscribing.setAwaited(sid, until: nil)
            } else if let old = dataSubscribing.predecessor(of: info, by: publisher) {
                dataSubscribing.rename(old, as: info)
            } else {
                dataSubscribing.add(info, of: publisher)
                put(.tell(.dataTrackPublished(RemoteDataTrack(info, of: publisher))))
                continue
            }
            // The subscription has to be made again: servers do not take it over into the publisher's new session, and
            // drop it while the publisher is hidden.
            if dataSubscribing.tracks[sid]?.isWanted == true { sayWanted([sid], true) }
        }
    }

    /// A publisher's session is over.
    ///
    /// - Parameter mayReturn: whether another session of theirs may follow, or has just been told of; its tracks are
    ///   told of after it.
    mutating func dataPublisherLeft(_ publisher: ParticipantIdentity, mayReturn: Bool, at now: Instant) {
        guard mayReturn else { return endDataTracks { $0.publisher == publisher } }
        for sid in dataSubscribing.sorted({ $0.publisher == publisher }) {
            dataSubscribing.setAwaited(sid, until: now + Self.answerTimeout)
        }
    }

    private mutating func endDataTracks(where isEnded: (DataSubscribing.Track) -> Bool) {
        for sid in dataSubscribing.sorted(isEnded) {
            guard let track = endDataTrack(sid, because: .dataTrackEnded) else { continue }
            put(.tell(.dataTrackUnpublished(RemoteDataTrack(track.info, of: track.publisher))))
        }
    }

    private mutating func endDataTrack(_ sid: TrackSID, because error: RoomError) -> DataSubscribing.Track? {
        guard let track = dataSubscribing.remove(sid) else { return nil }
        if case .requested(_, let requests) = track.step {
            for request in requests { put(.complete(request, .failure(error))) }
        }
        if track.isWanted { put(.endDataStreams(track.id)) }
        return track
    }

    /// The room is over.
    mutating func endRemoteDataTracks(because error: RoomError) {
        for sid in dataSubscribing.sorted({ _ in true }) { _ = endDataTrack(sid, because: error) }
    }

    // MARK: What we want of it

    /// Subscribes to a data track. `request` is completed when its frames can come, or when that has failed. The server
    /// is asked for the first subscription only: later ones get the same packets.
    mutating func subscribe(to track: RemoteDataTrack, request: RequestID, at now: Instant) {
        guard isInRoom else { return put(.complete(request, .failure(.notConnected))) }
        guard let sid = dataSubscribing.sid(of: track), let known = dataSubscribing.tracks[sid] else {
            return put(.complete(request, .failure(.dataTrackEnded)))
        }
        guard options.encryption == nil || options.acceptsPlain else {
            return put(.complete(request, .failure(.notEncryptable)))
        }
        guard known.info.encryption == .none else {
            return put(.complete(request, .failure(.dataTrackEncrypted)))
        }
        switch known.step {
        case .unwanted:
            dataSubscribing.move(sid, to: .requested(until: now + Self.answerTimeout, [request]))
            sayWanted([sid], true)
        case .requested(let until, let requests):
            dataSubscribing.move(sid, to: .requested(until: until, requests + [request]))
        case .active: put(.complete(request, .success(.done)))
        }
    }

    /// The last stream of its frames was let go of.
    mutating func unsubscribe(from id: RemoteDataTrackID) {
        if let sid = dataSubscribing.sid(of: id) { giveUp(sid, because: .dataTrackEnded) }
    }

    /// The server refuses a track that we have asked for. For an active track nothing is done: its frames go on when it
    /// is allowed again.
    mutating func dataSubscriptionRefused(_ sid: TrackSID, _ refusal: RequestRefusal) {
        guard case .requested? = dataSubscribing.tracks[sid]?.step else { return }
        giveUp(sid, because: .requestRefused(refusal, message: ""))
    }

    private mutating func giveUp(_ sid: TrackSID, because error: RoomError) {
        guard let track = dataSubscribing.tracks[sid], track.isWanted else { return }
        dataSubscribing.move(sid, to: .unwanted)
        sayWanted([sid], false)
        if case .requested(_, let requests) = track.step {
            for request in requests { put(.complete(request, .failure(error))) }
        }
    }

    private mutating func sayWanted(_ sids: [TrackSID], _ isWanted: Bool) {
        say(.updateDataSubscription(Self.update(sids, isWanted)))
    }

    private static func update(_ sids: [TrackSID], _ isWanted: Bool) -> LiveKitUpdateDataSubscription {
        .with { update in
            update.updates = sids.map { sid in
                .with {
                    $0.trackSid = sid.rawValue
                    $0.subscribe = isWanted
                }
            }
        }
    }

    /// Our subscriptions, for `syncState`.
    var wantedDataTracks: LiveKitUpdateDataSubscription { Self.update(dataSubscribing.wanted, true) }

    /// Asks again, in a new session, for the tracks that we have subscribed to.
    mutating func dataSubscriptionsBeginAnew(at now: Instant) {
        let wanted = dataSubscribing.wanted
        guard !wanted.isEmpty else { return }
        for sid in wanted {
            guard case .requested(_, let requests)? = dataSubscribing.tracks[sid]?.step else { continue }
            dataSubscribing.move(sid, to: .requested(until: now + Self.answerTimeout, requests))
        }
        sayWanted(wanted, true)
    }

    mutating func dataSubscribingTimePassed(at now: Instant) {
        guard let deadline = dataSubscribing.deadline, deadline <= now else { return }
        // The time in which the connection is down does not count.
        guard isSignalOpen else { return allowMoreTime(at: now) }
        // The track may still be there, of a publisher who is hidden now. It is ended here, so it is unsubscribed from
        // too: otherwise its packets would come when the publisher is shown again.
        for sid in dataSubscribing.sorted({ $0.isWanted && $0.isLate(at: now) }) { sayWanted([sid], false) }
        endDataTracks { $0.isLate(at: now) }
        for sid in dataSubscribing.wanted {
            guard case .requested(let until, _)? = dataSubscribing.tracks[sid]?.step, until <= now else { continue }
            giveUp(sid, because: .timedOut)
        }
    }

    private mutating func allowMoreTime(at now: Instant) {
        let until = now + Self.answerTimeout
        for (sid, track) in dataSubscribing.tracks {
            if case .requested(_, let requests) = track.step {
                dataSubscribing.move(sid, to: .requested(until: until, requests))
            }
            if track.awaitedUntil != nil { dataSubscribing.setAwaited(sid, until: until) }
        }
    }

    // MARK: What comes

    /// The server says which handles the packets of tracks have. Tracks that it does not name keep theirs.
    mutating func dataHandlesTold(_ handles: LiveKitDataTrackSubscriberHandles) {
        for (number, track) in handles.subHandles.sorted(by: { $0.key < $1.key }) {
            let sid = TrackSID(track.trackSid)
            // Packets of a track that we do not want, or no longer, are ignored.
            guard let handle = UInt16(exactly: number), handle > 0, dataSubscribing.tracks[sid]?.isWanted == true else {
                continue
            }
            dataSubscribing.setHandle(handle, of: sid)
            guard case .requested(_, let requests)? = dataSubscribing.tracks[sid]?.step else { continue }
            dataSubscribing.move(sid, to: .active)
            for request in requests { put(.complete(request, .success(.done))) }
        }
    }

    mutating func dataTrackPacketReceived(_ bytes: [UInt8]) {
        guard let packet = DataTrackPacket(parsing: bytes), let (id, frame) = dataSubscribing.take(packet) else {
            return
        }
        put(.dataFrame(id, frame))
    }
}
