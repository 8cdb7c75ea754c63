internal import LiveKitClient
internal import LiveKitCore
internal import LiveKitProtocol
internal import LiveKitRecorder
internal import Logging
internal import RTCEngine
internal import RTCNetwork
internal import SwiftProtobuf
internal import Synchronization

/// All recordings of a server: who asked for which, and a recorder in each room of which something is recorded. It
/// joins when the first recording of a room begins and leaves after the last, so that clients are told that they are
/// recorded while they are.
actor Egresses {
    /// Whom it asks and tells.
    struct Surroundings: Sendable {
        var participants: EmbeddedParticipants
        /// A room and who is in it; nil when there is none of the name.
        var look: @Sendable (_ room: String) async -> (room: LiveKitRoom, people: [LiveKitParticipantInfo])?
        var webhook: @Sendable (LiveKitWebhookEvent) -> Void
    }

    /// A room of which something is recorded.
    private struct Session {
        let room: LiveKitRoom
        let recorder: RoomRecorder
        /// Since when tracks can be recorded, or why they cannot.
        let joining: Task<Result<Instant, RecordingFailure>, Never>
        /// Recordings of tracks and of the whole room.
        var users = 0
        /// Recordings of tracks.
        var tracks = 0
    }

    nonisolated let configuration: RecordingConfiguration
    /// So long a track that is asked for may take to come into its room.
    private let moment: Duration
    let surroundings: Surroundings
    let logger: Logger
    nonisolated let loop = NetworkLoop(name: "roost-recorder")
    nonisolated private let counters = Mutex(EgressStatistics())
    private(set) var egresses: [String: Egress] = [:]
    /// In the order in which they were asked for.
    private var ids: [String] = []
    /// By the room's sid.
    private var sessions: [String: Session] = [:]
    var folders: [String: RecordingFolder] = [:]
    var automatic: [String: Automatic] = [:]
    /// By the room's sid, tracks that are recorded by themselves and of which the recorder was lost: the next one finds
    /// their places kept.
    var lost: [String: Set<String>] = [:]
    /// Which recording of the recorder's a track of an egress is, to end it.
    private var running: [Work: Int] = [:]
    /// Of these, those of which the track is over. The recorder may not have come to see it.
    private var withdrawn: Set<Work> = []
    private var isStopping = false
    /// What is not whole by now is left as it is.
    private(set) var isOutOfPatience = false
    /// Each looks for itself whether what it waits for has come.
    var waitingForIdle: [CheckedContinuation<Void, Never>] = []
    /// Or were tried once more, when the server went down.
    var owedIndexesAreWritten = false

    struct Work: Hashable {
        let egress: String
        let track: String
    }

    /// So many that are over are remembered.
    private static let historyLimit = 1_000

    init(
        _ configuration: RecordingConfiguration, _ surroundings: Surroundings, moment: Duration = .seconds(3),
        logger: Logger
    ) {
        self.configuration = configuration
        self.moment = moment
        self.surroundings = surroundings
        self.logger = logger
    }

    /// What it has done; from any thread, at any time.
    nonisolated var statistics: EgressStatistics { counters.withLock { $0 } }

    // MARK: From the service

    /// Records one track that is published, or is about to be.
    func start(track sid: String, inRoom name: String, template: String) async throws(TwirpError) -> LiveKitEgressInfo {
        let (room, track) = try await find(sid, inRoom: name)
        guard track.encryption == .none else {
            throw TwirpError(
                .failedPrecondition, "the track is encrypted from end to end: a file of it would be no use to anybody")
        }
        try checkLimit()
        let id = add(.track(sid), template, room)
        record(track, for: id, room, isNamed: true)
        return info(id)
    }

    /// Records a whole room: what is published, and what will be.
    func start(
        room name: String, sound: Bool, pictures: Bool, template: String
    ) async throws(TwirpError) -> LiveKitEgressInfo {
        let (room, _) = try await look(name)
        try checkLimitOfRooms()
        let id = add(.room(sound: sound, pictures: pictures), template, room)
        let session = enter(room)
        // Ends with its recorder, which leaves when the egress is over or `stop` ends it; a failure is noted.
        Task {
            if case .failure(let failure) = await session.joining.value {
                return note(id) { $0.orphaned(failure, at: Self.now) }
            }
            note(id) { $0.becameActive(at: Self.now) }
            // What is published from here on comes as news.
            for track in await surroundings.look(name)?.people.flatMap(\.tracks) ?? [] { record(track, for: id, room) }
            let failure = await session.recorder.waitForEnd()
            note(id) { $0.orphaned(failure, at: Self.now) }
        }
        return info(id)
    }

    func list(_ request: LiveKitListEgressRequest) -> LiveKitListEgressResponse {
        .with {
            $0.items = ids.compactMap { egresses[$0] }.filter { egress in
                (request.roomName.isEmpty || egress.info.roomName == request.roomName)
                    && (request.egressID.isEmpty || egress.info.egressID == request.egressID)
                    && (!request.active || egress.isActive)
            }.map(\.info)
        }
    }

    func stop(_ id: String) async throws(TwirpError) -> LiveKitEgressInfo {
        guard let egress = egresses[id] else { throw TwirpError(.notFound, "egress does not exist") }
        guard egress.isRunning else {
            throw TwirpError(.failedPrecondition, "egress with status \(egress.info.status.name) cannot be stopped")
        }
        await end(id)
        return info(id)
    }

    // MARK: From the rooms

    /// What is also told by webhooks, in its order.
    func happened(_ event: LiveKitWebhookEvent) async {
        switch event.event {
        case "track_published":
            recordAutomatically(event.track, in: event.room)
            for id in ids where egresses[id]?.info.roomID == event.room.sid { record(event.track, for: id, event.room) }
        case "track_unpublished":
            for id in ids where egresses[id]?.info.roomID == event.room.sid { egresses[id]?.gone(event.track.sid) }
            await withdraw(event.track.sid, from: event.room.sid)
        case "room_finished":
            automatic[event.room.sid] = nil
            // News of other rooms do not wait for a disk.
            Task { await forget(event.room.sid) }
        default: break
        }
    }

    private func withdraw(_ track: String, from room: String) async {
        let works = running.filter { $0.key.track == track && egresses[$0.key.egress]?.info.roomID == room }
        withdrawn.formUnion(works.keys)
        for recording in works.values { await sessions[room]?.recorder.trackEnded(recording) }
    }

    /// The server goes down: files are made whole, for as long as that may take. What the disk has not taken in three
    /// fifths of that is missing, and the rest of the time is for the ends of the files and for the indexes that say
    /// so.
    func stop(within patience: Duration = .seconds(5)) async {
        isStopping = true
        automatic = [:]
        lost = [:]
        for id in ids where egresses[id]?.isRunning == true { await end(id) }
        let timeout = Task {
            guard (try? await Task.sleep(for: patience * 3 / 5)) != nil else { return }
            for session in sessions.values { await session.recorder.breakOff() }
            guard (try? await Task.sleep(for: patience * 2 / 5)) != nil else { return }
            isOutOfPatience = true
            tellIdle()
        }
        while isBusy, !isOutOfPatience { await withCheckedContinuation { waitingForIdle.append($0) } }
        await writeOwedIndexes()
        timeout.cancel()
    }

    // MARK: One egress

    private func look(_ name: String) async throws(TwirpError) -> (LiveKitRoom, [LiveKitParticipantInfo]) {
        guard let (room, people) = await surroundings.look(name) else { throw .noSuchRoom }
        return (room, people)
    }

    /// Who publishes a track knows its sid before it is in the room, where it comes with its first packet: a service
    /// that hears of it from there may ask a moment too soon.
    private func find(
        _ sid: String, inRoom name: String
    ) async throws(TwirpError) -> (LiveKitRoom, LiveKitTrackInfo) {
        let end = ContinuousClock.now + moment
        // Each look is work for the room's thread.
        var pause = Duration.milliseconds(50)
        while true {
            let (room, people) = try await look(name)
            if let track = people.lazy.flatMap(\.tracks).first(where: { $0.sid == sid }) { return (room, track) }
            try checkIsRunning()
            guard ContinuousClock.now < end, (try? await Task.sleep(for: pause)) != nil else {
                throw TwirpError(.notFound, "track is not found")
            }
            pause = min(pause * 2, .milliseconds(400))
        }
    }

    private func checkIsRunning() throws(TwirpError) {
        guard !isStopping else { throw TwirpError(.unavailable, "the server is going down") }
    }

    /// Places that nobody else is given.
    private var taken: Int { running.count + lost.values.reduce(0) { $0 + $1.count } }

    private func checkLimit() throws(TwirpError) {
        try checkIsRunning()
        guard taken < configuration.limit else {
            throw TwirpError(
                .resourceExhausted, "the server records \(configuration.limit) tracks already, the most that it does")
        }
    }

    /// A whole room takes no track's place, and its tracks wait where there is none.
    private func checkLimitOfRooms() throws(TwirpError) {
        try checkIsRunning()
        guard egresses.values.count(where: { $0.isActive && $0.isOfRoom }) < configuration.limit else {
            throw TwirpError(
                .resourceExhausted, "the server records \(configuration.limit) rooms already, the most that it does")
        }
    }

    func add(_ scope: Egress.Scope, _ template: String, _ room: LiveKitRoom) -> String {
        let id = Self.randomID("EG_")
        let egress = Egress(
            id: id, scope: scope, template: template, room: room, index: Self.indexName(room) + ".json", at: Self.now)
        egresses[id] = egress
        ids.append(id)
        count {
            $0.started += 1
            $0.active += 1
        }
        if ids.count > Self.historyLimit, let old = ids.firstIndex(where: { egresses[$0]?.isActive == false }) {
            egresses[ids.remove(at: old)] = nil
        }
        tell("egress_started", egress.info)
        return id
    }

    private func info(_ id: String) -> LiveKitEgressInfo { egresses[id]?.info ?? LiveKitEgressInfo() }

    /// Something has happened to an egress: whoever waits for it is told.
    private func note(_ id: String, _ change: (inout Egress) -> Egress.News?) {
        guard var egress = egresses[id] else { return }
        let news = change(&egress)
        egresses[id] = egress
        switch news {
        case .updated: tell("egress_updated", egress.info)
        case .ended:
            tell("egress_ended", egress.info)
            count { $0.ended(egress.info.status) }
            // Whoever reports does not wait for the recorder's goodbye.
            if case .room = egress.scope { Task { await leave(egress.info.roomID) } }
        case nil: break
        }
    }

    func count(_ change: (inout EgressStatistics) -> Void) { counters.withLock { change(&$0) } }

    private func tell(_ event: String, _ info: LiveKitEgressInfo) {
        surroundings.webhook(
            .with {
                $0.event = event
                $0.egressInfo = info
                $0.id = Self.randomID("EV_")
                $0.createdAt = Self.now / 1_000_000_000
            })
    }

    private func end(_ id: String) async {
        note(id) { $0.stopRequested(at: Self.now) }
        guard let room = egresses[id]?.info.roomID else { return }
        for (work, recording) in running where work.egress == id { await sessions[room]?.recorder.stop(recording) }
    }

    /// Why a track is not recorded by an egress, now or later; nil if it can be.
    private func obstacle(to track: LiveKitTrackInfo, of egress: Egress) -> RecordingFailure? {
        if track.encryption != .none { return .encrypted }
        return egress.isFull ? .tooManyFiles(limit: Egress.trackLimit) : nil
    }

    /// Why no track of a room is recorded now; nil if one can be.
    private func wantOfPlace(in room: LiveKitRoom, isNamed: Bool) -> RecordingFailure? {
        guard !isStopping, taken < configuration.limit else {
            return .notInRoom("The server records \(configuration.limit) tracks already.")
        }
        // What people publish in one room leaves room for others. Whoever names a track has chosen.
        guard isNamed || sessions[room.sid]?.tracks ?? 0 < configuration.limitOfRoom else {
            return .notInRoom("The server records \(configuration.limitOfRoom) tracks of this room already.")
        }
        return nil
    }

    /// Begins with a track, if the egress is to have it.
    ///
    /// - Parameters:
    ///   - isNamed: a service has asked for this very track.
    ///   - isAutomatic: nobody has; another recorder takes the place of one that is lost.
    func record(
        _ track: LiveKitTrackInfo, for id: String, _ room: LiveKitRoom, isNamed: Bool = false,
        isAutomatic: Bool = false
    ) {
        guard let egress = egresses[id], egress.wants(track) else { return }
        let obstacle = obstacle(to: track, of: egress)
        if let reason = obstacle ?? wantOfPlace(in: room, isNamed: isNamed) {
            return leaveOut(track.sid, of: egress, reason, waits: obstacle == nil)
        }
        note(id) { $0.took(track.sid, at: Self.now) }
        let work = Work(egress: id, track: track.sid)
        running[work] = 0
        count { $0.tracks += 1 }
        let session = enter(room)
        sessions[room.sid]?.tracks += 1
        let template = egress.template
        // `running` knows of it, and `stop` ends its recording and waits for it; a failure is noted.
        Task {
            let failure = await recorded(work, as: template, by: session, in: room.sid, isAutomatic: isAutomatic)
            running[work] = nil
            withdrawn.remove(work)
            count {
                $0.tracks -= 1
                if failure?.isOfOneTrack == true { $0.omitted += 1 }
            }
            note(id) { $0.trackEnded(track.sid, failure, at: Self.now) }
            sessions[room.sid]?.tracks -= 1
            await leave(room.sid)
            if !isBusy { tellIdle() }
            await fillPlaces()
        }
    }

    /// Has a recorder record a track, from when it is in the room until the track ends.
    ///
    /// - Returns: why it was not recorded to its end.
    private func recorded(
        _ work: Work, as template: String, by session: Session, in room: String, isAutomatic: Bool
    ) async -> RecordingFailure? {
        let came: Instant
        switch await session.joining.value {
        case .success(let time): came = time
        // One that cannot come in at all is not sent again and again.
        case .failure(let failure): return failure
        }
        guard egresses[work.egress]?.isRunning == true, !withdrawn.contains(work) else { return nil }
        let failure = await session.recorder.record(
            TrackSID(work.track), as: template,
            began: { path in
                await self.note(work.egress) { $0.fileBegan(path, of: work.track, at: Self.now) }
            },
            ended: { file in await self.took(file, of: work) },
            accepted: { recording in await self.accepted(work, recording, session.recorder) })
        if isAutomatic { automaticEnded(work, failure, in: room, recorderCame: came) }
        return failure
    }

    private func leaveOut(_ track: String, of egress: Egress, _ reason: RecordingFailure, waits: Bool) {
        // It is not told of again for waiting on.
        guard !egress.waiting.contains(track) else { return }
        count { $0.omitted += 1 }
        let id = egress.info.egressID
        switch egress.scope {
        case .room: note(id) { $0.omit(track, reason.description, waits: waits, at: Self.now) }
        case .track:
            note(id) { $0.took(track, at: Self.now) }
            note(id) { $0.trackEnded(track, reason, at: Self.now) }
        }
    }

    /// A recording has ended: tracks of whole rooms that wait for a place are looked at again.
    func fillPlaces() async {
        for id in ids {
            guard let egress = egresses[id], egress.isRunning, !egress.waiting.isEmpty,
                let (room, people) = await surroundings.look(egress.info.roomName), room.sid == egress.info.roomID
            else { continue }
            let tracks = people.flatMap(\.tracks)
            // Of those that have waited since before the look: what has come since may not be in it.
            for track in egress.waiting.subtracting(tracks.map(\.sid)) { egresses[id]?.gone(track) }
            for track in tracks where egresses[id]?.waiting.contains(track.sid) == true {
                record(track, for: id, room)
            }
        }
    }

    private func took(_ file: RecordedFile, of work: Work) {
        egresses[work.egress]?.fileEnded(file, of: work.track)
        if file.isComplete { count { $0.bytes += Int(clamping: file.size) } }
    }

    private func accepted(_ work: Work, _ recording: Int, _ recorder: RoomRecorder) async {
        running[work] = recording
        // Its end was asked for meanwhile.
        if egresses[work.egress]?.isRunning != true { await recorder.stop(recording) }
        if withdrawn.contains(work) { await recorder.trackEnded(recording) }
    }

    private var isBusy: Bool { !running.isEmpty }

    func tellIdle() {
        for waiting in waitingForIdle { waiting.resume() }
        waitingForIdle = []
    }

    // MARK: Recorders

    /// A user more of a room's recorder, which joins if there is none.
    private func enter(_ room: LiveKitRoom) -> Session {
        var session = sessions[room.sid] ?? join(room)
        session.users += 1
        sessions[room.sid] = session
        return session
    }

    /// A user less.
    private func leave(_ sid: String) async {
        guard var session = sessions[sid] else { return }
        session.users -= 1
        sessions[sid] = session.users > 0 ? session : nil
        guard session.users == 0 else { return }
        await session.recorder.leave()
        await recordLost(of: sid)
        // Of what is owed when all ends, `stop` thinks.
        guard !isStopping else { return }
        let room = session.room
        // Nobody waits for that.
        Task { await recorderLeft(room) }
    }

    /// Its recorder is in the room, or on its way, and what it has recorded is not whole yet.
    func isRecorded(_ sid: String) -> Bool { sessions[sid] != nil }

    private func join(_ room: LiveKitRoom) -> Session {
        var claims = AccessToken.Claims()
        claims.kind = "egress"
        var grants = VideoGrants()
        grants.roomJoin = true
        grants.room = room.name
        grants.canPublish = false
        grants.canPublishData = false
        grants.hidden = true
        grants.recorder = true
        claims.video = grants
        var options = ConnectOptions()
        options.inProcessSignaling = surroundings.participants.signaling(
            to: room.name, as: Self.randomID("EG_"), claims)
        let recorder = RoomRecorder(
            options: options, folder: folder(of: room), patience: configuration.patience)
        let joining = Task { () -> Result<Instant, RecordingFailure> in
            do throws(RecordingFailure) {
                // The signaling leads there: neither is looked at.
                try await recorder.connect(url: "", token: "")
                return .success(NetworkLoop.now)
            } catch {
                return .failure(error)
            }
        }
        return Session(room: room, recorder: recorder, joining: joining)
    }

    private static var now: Int64 { (NetworkLoop.now + NetworkLoop.wallClockOffset).nanoseconds }

    private static func randomID(_ prefix: String) -> String {
        let alphabet = Array("23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
        return prefix + String((0..<12).compactMap { _ in alphabet.randomElement() })
    }
}

extension LiveKitEgressStatus {
    /// As the protocol spells it.
    var name: String {
        switch self {
        case .egressStarting: "EGRESS_STARTING"
        case .egressActive: "EGRESS_ACTIVE"
        case .egressEnding: "EGRESS_ENDING"
        case .egressComplete: "EGRESS_COMPLETE"
        case .egressFailed: "EGRESS_FAILED"
        case .egressAborted: "EGRESS_ABORTED"
        case .egressLimitReached: "EGRESS_LIMIT_REACHED"
        case .UNRECOGNIZED(let number): "\(number)"
        }
    }
}
