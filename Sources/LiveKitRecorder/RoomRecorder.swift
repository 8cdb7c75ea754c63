package import LiveKitClient
internal import RTCEngine
internal import RTCNetwork

/// A participant that does nothing but record: the tracks that it is asked for, each for as long as it is published or
/// until it is told to stop.
package actor RoomRecorder {
    /// One track that is to be recorded, once it arrives.
    private struct Recording {
        let track: TrackSID
        /// The track arrives, perhaps again after the recorder's own connection was made anew.
        let arrivals: AsyncStream<RemoteTrack>.Continuation
        /// Ends the frames of the one that is being recorded.
        var end: FrameStreamEnd?
        /// Gives up when our patience is over.
        var search: Task<Void, Never>?
        /// It has arrived once, though nothing need have come of it: it may be muted.
        var hasArrived = false
        /// It comes once there is a place for it among those that we have.
        var isPostponed = false
        /// No more is to come: it was told to stop, its track is over, or it is known why it cannot be had.
        var isOver = false
        /// It was told to: what has come by then is recorded.
        var isStopped = false
        /// Why it does not come, or no more of it.
        var failure: RecordingFailure?
    }

    private let room: Room
    private let patience: Duration
    private let folder: RecordingFolder
    /// The room was there when its recording was asked for.
    private let isInProcess: Bool
    private var recordings: [Int: Recording] = [:]
    private var lastRecording = 0
    private var isBrokenOff = false
    private var end: DisconnectReason?
    private var waitingForEnd: [CheckedContinuation<RecordingFailure?, Never>] = []

    /// A track that the server does not give us for so long is not there, or not for us.
    package static let usualPatience = Duration.seconds(10)

    package init(
        options: ConnectOptions, folder: RecordingFolder, patience: Duration = RoomRecorder.usualPatience
    ) {
        var options = options
        // What nobody asked for is not sent.
        options.autoSubscribe = false
        isInProcess = options.inProcessSignaling != nil
        room = Room(options: options)
        self.folder = folder
        self.patience = patience
    }

    /// Joins the room; back when tracks can be recorded, or when the room is over: then there is nothing to record, and
    /// nothing is missing.
    package func connect(url: String, token: String) async throws(RecordingFailure) {
        let events = room.events
        Task { [weak self] in
            for await event in events { await self?.happened(event) }
            await self?.ended(.unknown)
        }
        do throws(RoomError) {
            try await room.connect(url: url, token: token)
        } catch {
            if case .disconnected(let reason) = error, reason.failure == nil { return ended(reason) }
            if isInProcess, case .refused(404, _) = error { return ended(.roomDeleted) }
            throw .notInRoom(error.description)
        }
        do throws(RecordingFolderError) {
            try await folder.begin(room: await room.name, id: await room.sid)
        } catch {
            await room.disconnect()
            throw .unwritable
        }
    }

    /// Records a track until it ends.
    ///
    /// - Parameters:
    ///   - accepted: is called at once with what `stop` takes.
    ///   - began: a file has been begun, by its path from the folder on.
    ///   - ended: it has been ended. Of a track whose codec changes there are several, one after the other.
    /// - Returns: why it was not recorded to its end.
    package func record(
        _ track: TrackSID, as template: String, began: @escaping @Sendable (String) async -> Void,
        ended: @escaping @Sendable (RecordedFile) async -> Void, accepted: @Sendable (Int) async -> Void
    ) async -> RecordingFailure? {
        if let end { return end.failure }
        lastRecording += 1
        let id = lastRecording
        let (tracks, arrivals) = AsyncStream.makeStream(of: RemoteTrack.self)
        recordings[id] = Recording(track: track, arrivals: arrivals)
        let folder = folder
        let task = Task { () -> RecordingFailure? in
            var hole: RecordingFailure?
            for await track in tracks {
                let (frames, end, missed) = track.listen()
                listens(id, until: end)
                let (file, failure) = await folder.record(
                    track, frames, end: end, missed: missed, as: template, began: began, changed: ended)
                if let file { await ended(file) }
                if let failure, !failure.isHole { return failure }
                hole = hole ?? failure
            }
            return hole
        }
        await accepted(id)
        if let track = await room.remoteTracks[track] { arrived(track, for: id) }
        await room.setSubscribed(true, to: track)
        search(for: id)
        var failure = await task.value
        let recording = recordings.removeValue(forKey: id)
        recording?.search?.cancel()
        // What is missing in its midst is less than what has ended it.
        if let reason = recording?.failure, failure?.isHole ?? true { failure = reason }
        if !recordings.values.contains(where: { $0.track == track }) { await room.setSubscribed(false, to: track) }
        return failure
    }

    /// Ends a recording; its `record` returns when the file is whole, with all that has come by now.
    package func stop(_ id: Int) {
        finish(id)
        recordings[id]?.isStopped = true
        if let end = recordings[id]?.end { end() }
    }

    /// As `stop` for all of them, but what the disk has not taken by now is missing, and is told.
    package func breakOff() {
        isBrokenOff = true
        for id in recordings.keys { finish(id) }
        for recording in recordings.values { recording.end?.atOnce() }
    }

    /// The track is over, as others know: what has not come by now does not come. Of one that has, the room tells us
    /// behind the last of it.
    package func trackEnded(_ id: Int) {
        if recordings[id]?.hasArrived == false { finish(id) }
    }

    /// Ends all recordings, and leaves. Repeatable.
    package func leave() async {
        for id in recordings.keys { stop(id) }
        await room.disconnect()
    }

    /// Returns when we are no longer in the room.
    ///
    /// - Returns: why, if the room goes on without us.
    package func waitForEnd() async -> RecordingFailure? {
        if let end { return end.failure }
        return await withCheckedContinuation { waitingForEnd.append($0) }
    }

    // MARK: In the room

    /// As long as our patience lasts, from now on.
    private func search(for id: Int) {
        guard let recording = recordings[id], !recording.hasArrived, !recording.isOver else { return }
        recording.search?.cancel()
        let track = recording.track
        recordings[id]?.search = Task { await giveUp(id, unlessArrived: track) }
    }

    private func giveUp(_ id: Int, unlessArrived track: TrackSID) async {
        // Whoever is looking for the way back to the room is given nothing meanwhile.
        repeat {
            guard (try? await Task.sleep(for: patience)) != nil, end == nil else { return }
        } while await room.connectionState != .connected
        let failure: RecordingFailure = await isPublished(track) ? .notAllowed : .noSuchTrack
        // From here on nothing comes in between.
        guard !Task.isCancelled, recordings[id]?.hasArrived == false, recordings[id]?.isPostponed == false else {
            return
        }
        finish(id, because: failure)
    }

    private func isPublished(_ track: TrackSID) async -> Bool {
        await room.remoteParticipants.values.contains { $0.tracks.contains { $0.sid == track } }
    }

    private func arrived(_ track: RemoteTrack, for id: Int) {
        recordings[id]?.hasArrived = true
        recordings[id]?.arrivals.yield(track)
    }

    private func listens(_ id: Int, until end: FrameStreamEnd) {
        recordings[id]?.end = end
        if isBrokenOff { end.atOnce() } else if recordings[id]?.isStopped == true { end() }
    }

    /// What comes first counts: of a track that is over nothing is missing, whatever becomes of us while its file is
    /// closed.
    private func finish(_ id: Int, because failure: RecordingFailure? = nil) {
        guard recordings[id]?.isOver == false else { return }
        recordings[id]?.isOver = true
        recordings[id]?.failure = failure
        recordings[id]?.arrivals.finish()
    }

    private func happened(_ event: RoomEvent) async {
        func recordings(of track: TrackSID) -> [Int] {
            self.recordings.filter { $0.value.track == track }.map(\.key)
        }
        // It was asked for before the server told of it.
        if case .trackPublished(let publication, _) = event, !recordings(of: publication.sid).isEmpty {
            await room.setSubscribed(true, to: publication.sid)
        }
        if case .trackSubscribed(let track) = event {
            for id in recordings(of: track.sid) { arrived(track, for: id) }
        }
        if case .trackSubscriptionFailed(let track, let failure) = event, !recordings(of: track).isEmpty {
            let reason = await reason(failure, of: track)
            for id in recordings(of: track) {
                if let reason { finish(id, because: reason) } else { self.recordings[id]?.isPostponed = true }
            }
        }
        searchAnew(after: event)
        if case .trackUnpublished(let publication, _) = event {
            for id in recordings(of: publication.sid) { finish(id) }
        }
        if case .disconnected(let reason) = event { ended(reason) }
    }

    /// That a track waits for a place is said of one session, and for as long as we may have it.
    private func searchAnew(after event: RoomEvent) {
        if case .subscriptionPermissionChanged(let track, isAllowed: false) = event {
            for (id, recording) in recordings where recording.track == track && recording.isPostponed {
                recordings[id]?.isPostponed = false
                search(for: id)
            }
        }
        // Of the next session it may be said before we are told that it is there.
        if case .reconnecting = event {
            for (id, recording) in recordings {
                recordings[id]?.isPostponed = false
                recording.search?.cancel()
            }
        }
        if case .reconnected = event {
            for id in recordings.keys { search(for: id) }
        }
    }

    private func reason(_ failure: SubscriptionFailure, of track: TrackSID) async -> RecordingFailure? {
        switch failure {
        case .codecUnsupported:
            let tracks = await room.remoteParticipants.values.flatMap(\.tracks)
            return .unsupported(codec: tracks.first { $0.sid == track }?.mimeType ?? "what the track is coded in")
        case .trackNotFound: return .noSuchTrack
        // For want of a section, as of Roost's server, it comes once there is one.
        case .unknown: return nil
        }
    }

    private func ended(_ reason: DisconnectReason) {
        guard end == nil else { return }
        end = reason
        for id in recordings.keys { finish(id, because: reason.failure) }
        for waiting in waitingForEnd { waiting.resume(returning: reason.failure) }
        waitingForEnd = []
    }
}

extension DisconnectReason {
    /// Nil when the room is over, or when we have left: nothing is missing then.
    fileprivate var failure: RecordingFailure? {
        switch self {
        case .roomDeleted, .roomClosed, .serverShutdown, .clientInitiated: nil
        case .unknown, .duplicateIdentity, .participantRemoved, .stateMismatch, .joinFailure, .migration, .signalClose,
            .userUnavailable, .userRejected, .sipTrunkFailure, .connectionTimeout, .mediaFailure, .agentError:
            .notInRoom(sentence)
        }
    }
}
