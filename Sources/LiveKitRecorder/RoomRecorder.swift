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
        var task: Task<RecordingFailure?, Never>?
        /// There was no such track.
        var isLost = false
    }

    private let room: Room
    private let folder: RecordingFolder
    private var recordings: [Int: Recording] = [:]
    private var lastRecording = 0
    private var end: DisconnectReason?
    private var waitingForEnd: [CheckedContinuation<RecordingFailure?, Never>] = []

    /// A track that the server does not tell of for so long is not there, or not for us.
    private static let patience = Duration.seconds(10)

    package init(options: ConnectOptions, folder: RecordingFolder) {
        var options = options
        // What nobody asked for is not sent.
        options.autoSubscribe = false
        room = Room(options: options)
        self.folder = folder
    }

    /// Joins the room; back when tracks can be recorded.
    package func connect(url: String, token: String) async throws(RecordingFailure) {
        let events = room.events
        Task { [weak self] in
            for await event in events { await self?.happened(event) }
            await self?.ended(.unknown)
        }
        do throws(RoomError) {
            try await room.connect(url: url, token: token)
        } catch {
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
    ///   - ended: it has been ended.
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
            for await track in tracks {
                let (file, failure) = await folder.record(track, track.frames, as: template, began: began)
                if let file { await ended(file) }
                if let failure { return failure }
            }
            return nil
        }
        recordings[id]?.task = task
        await accepted(id)
        if let track = await room.remoteTracks[track] { arrivals.yield(track) }
        await room.setSubscribed(track, true)
        let search = Task { await giveUp(id, unlessPublished: track) }
        var failure = await task.value
        search.cancel()
        if let recording = recordings.removeValue(forKey: id), recording.isLost { failure = .noSuchTrack }
        if !recordings.values.contains(where: { $0.track == track }) { await room.setSubscribed(track, false) }
        return failure
    }

    /// Ends a recording; its `record` returns when the file is whole.
    package func stop(_ id: Int) {
        recordings[id]?.arrivals.finish()
        recordings[id]?.task?.cancel()
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

    private func giveUp(_ id: Int, unlessPublished track: TrackSID) async {
        guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
        let isThere = await room.remoteParticipants.values.contains { $0.tracks.contains { $0.sid == track } }
        guard !isThere, recordings[id] != nil else { return }
        recordings[id]?.isLost = true
        recordings[id]?.arrivals.finish()
    }

    private func happened(_ event: RoomEvent) async {
        func recordings(of track: TrackSID) -> [Recording] { self.recordings.values.filter { $0.track == track } }
        // It was asked for before the server told of it.
        if case .trackPublished(let publication, _) = event, !recordings(of: publication.sid).isEmpty {
            await room.setSubscribed(publication.sid, true)
        }
        if case .trackSubscribed(let track) = event {
            for recording in recordings(of: track.sid) { recording.arrivals.yield(track) }
        }
        if case .trackUnpublished(let publication, _) = event {
            for recording in recordings(of: publication.sid) { recording.arrivals.finish() }
        }
        if case .disconnected(let reason) = event { ended(reason) }
    }

    private func ended(_ reason: DisconnectReason) {
        guard end == nil else { return }
        end = reason
        for recording in recordings.values { recording.arrivals.finish() }
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
