internal import Foundation
internal import LiveKitClient
internal import LiveKitRecorder
internal import MediaFiles
internal import RTCEngine
internal import RTCWire

/// Joins a room and does there what it was told, until it has to leave.
@MainActor
final class JoinRunner {
    /// What can happen next.
    private enum Step {
        case joined
        case refused(RoomError)
        case event(RoomEvent)
        case interrupted(signal: Int32)
        case readerGone
        case waitedEnough
        case stayedEnough
        case left
    }

    let room: Room
    let output: CallOutput
    private let url: String
    private let token: String
    private let files: [JoinFile]
    let ending: MediaSource.Ending
    private let messages: [String]
    private let topic: String?
    private let recorder: RecordingFolder?
    private var hasJoined = false
    private var end: DisconnectReason?
    var publications: [LocalTrackPublication] = []
    var dataTracks: [LocalDataTrack] = []
    /// Those who read data tracks.
    var dataReaders: [RemoteDataTrack.ID: Task<Void, Never>] = [:]
    /// Calls of our methods that wait for `answer`.
    var calls: [String: CheckedContinuation<String, any Error>] = [:]
    /// Work that goes on beside.
    private var tasks: [Task<Void, Never>] = []

    init(
        room: Room, url: String, token: String, files: [JoinFile], ending: MediaSource.Ending, messages: [String],
        topic: String?, recorder: RecordingFolder?, output: CallOutput
    ) {
        self.room = room
        self.url = url
        self.token = token
        self.files = files
        self.ending = ending
        self.messages = messages
        self.topic = topic
        self.recorder = recorder
        self.output = output
    }

    /// Returns when the room has been left as it should be; throws a sentence otherwise.
    func run(wait: Duration, duration: Duration?, takesCommands: Bool) async throws {
        let (steps, queue) = AsyncStream.makeStream(of: Step.self)
        listen(queue)
        connect(wait: wait, queue)
        var failure: CommandError?
        // The events may end before we hear that we were let in: another task tells that.
        var isOver = false
        loop: for await step in steps {
            switch step {
            case .joined:
                hasJoined = true
                if isOver {
                    failure = failureOfEnd
                    break loop
                }
                await joined()
                start { [self] in await beginWork() }
                if takesCommands { takeCommands(queue) }
                if let duration { put(.stayedEnough, after: duration, in: queue) }
            case .refused(let error):
                failure = CommandError(error.description)
                break loop
            case .event(let event):
                await happened(event)
            case .interrupted(let signal):
                if !hasJoined { failure = CommandError("Ended before we were in the room.", status: 128 + signal) }
                break loop
            case .readerGone:
                failure = CommandError("Nobody takes what is printed any more, so we have left.")
                break loop
            case .waitedEnough where !hasJoined:
                failure = CommandError("The server at \(url) did not let us in within \(wait.text).")
                break loop
            case .waitedEnough:
                continue
            case .stayedEnough:
                break loop
            case .left where !hasJoined:
                // Why is told by the one who asked to join.
                isOver = true
            case .left:
                failure = failureOfEnd
                break loop
            }
        }
        await leave()
        if let failure { throw failure }
        if end == nil { output.say("left", "We have left the room.", [:]) }
    }

    /// Has all that comes from outside told as steps: signals, a reader that is gone, the room's events.
    private func listen(_ queue: AsyncStream<Step>.Continuation) {
        let interrupts = Interrupts.stream()
        start { for await signal in interrupts { queue.yield(.interrupted(signal: signal)) } }
        output.onReaderGone = { queue.yield(.readerGone) }
        let events = room.events
        start {
            for await event in events { queue.yield(.event(event)) }
            queue.yield(.left)
        }
    }

    /// Asks to be let in, and waits for that no longer than `wait`.
    private func connect(wait: Duration, _ queue: AsyncStream<Step>.Continuation) {
        start { [room, url, token] in
            do throws(RoomError) {
                try await room.connect(url: url, token: token)
                queue.yield(.joined)
            } catch {
                queue.yield(.refused(error))
            }
        }
        put(.waitedEnough, after: wait, in: queue)
    }

    private func put(_ step: Step, after duration: Duration, in queue: AsyncStream<Step>.Continuation) {
        start {
            guard (try? await Task.sleep(for: duration)) != nil else { return }
            queue.yield(step)
        }
    }

    /// Does what is said on standard input, until that is to leave.
    private func takeCommands(_ queue: AsyncStream<Step>.Continuation) {
        let lines = Self.commandLines()
        start { [self] in
            for await line in lines where await !obey(line) { queue.yield(.stayedEnough) }
        }
    }

    /// What is wrong with how the room has ended; nil where we asked for it, or where no end was told.
    private var failureOfEnd: CommandError? {
        guard let end, end != .clientInitiated else { return nil }
        return CommandError(end.sentence)
    }

    /// Says goodbye, and ends all that goes on beside.
    private func leave() async {
        // Files are whole even if the goodbye takes its time.
        _ = await recorder?.finish()
        await room.disconnect()
        for task in tasks { task.cancel() }
        for reader in dataReaders.values { reader.cancel() }
        for (_, call) in calls { call.resume(throwing: CancellationError()) }
        calls = [:]
    }

    func start(_ work: @escaping @MainActor () async -> Void) { tasks.append(Task { await work() }) }

    /// Throws a sentence when not all that was received could be written.
    func finishRecording() async throws {
        guard let recorder else { return }
        let index = await recorder.finish()
        if let loss = await recorder.loss { throw CommandError("The recording is not complete. \(loss)") }
        let files = await recorder.fileCount
        output.say(
            "recorded", files == 0 ? "Nothing was received that could be recorded." : "Recorded, see \(index)",
            ["index": .text(index), "files": .number(Double(files))])
    }

    /// The lines of standard input. By a thread of its own: reading blocks, for as long as nobody writes.
    private static func commandLines() -> AsyncStream<String> {
        let (lines, source) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            while let line = readLine() { source.yield(line) }
            source.finish()
        }
        return lines
    }

    // MARK: In the room

    private func joined() async {
        let (name, local) = (await room.name, await room.localParticipant)
        let others = await room.remoteParticipants.keys.map(\.rawValue).sorted()
        output.say(
            "joined",
            "In room \(name) as \(local.identity)"
                + (others.isEmpty ? "." : " with \(others.joined(separator: ", "))."),
            [
                "room": .text(name), "identity": .text(local.identity.rawValue), "sid": .text(local.sid.rawValue),
                "others": .list(others.map { .text($0) }),
            ])
        do throws(RecordingFolderError) {
            try await recorder?.begin(room: name)
        } catch {
            output.notice(error.description)
        }
    }

    private func beginWork() async {
        for file in files { await publish(file) }
        for message in messages {
            do throws(RoomError) {
                try await room.publish(data: Array(message.utf8), topic: topic)
            } catch {
                output.notice("A message was not sent: \(error)")
            }
        }
    }

    /// Publishes what a file holds: its first pictures as a camera's, its first sound as a microphone's.
    func publish(_ file: JoinFile) async {
        if let sentence = file.media.omission(from: file.name) { output.notice(sentence) }
        let round = (file.media.tracks + file.layers).map(\.duration).max()
        var picture: LocalTrackPublication?
        for track in [file.media.video, file.media.audio].compactMap({ $0 }) {
            let usual: TrackSource = track.format.isVideo ? .camera : .microphone
            let isFirst = !publications.contains { $0.source == usual }
            var options = TrackPublishOptions(name: file.name, source: isFirst ? usual : .unknown)
            options.isStereo = track.channels == 2
            do throws(RoomError) {
                let publication =
                    if track.format.isVideo, !file.layers.isEmpty {
                        try await room.publish(
                            layers: [track] + file.layers, ending: ending, roundLength: round, options: options)
                    } else {
                        try await room.publish(
                            playing: track, beside: picture, ending: ending, roundLength: round, options: options)
                    }
                if publication.kind == .video { picture = publication }
                publications.append(publication)
            } catch {
                output.say(
                    "not_published", "\(file.name) was not published: \(error)",
                    ["name": .text(file.name), "kind": .text(track.format.isVideo ? "video" : "audio")])
            }
        }
    }

    private func happened(_ event: RoomEvent) async {
        if case .disconnected(let reason) = event { end = reason }
        if case .trackSubscribed(let track) = event, let recorder {
            let (frames, end, missed) = track.listen()
            start { _ = await recorder.record(track, frames, end: end, missed: missed) }
        }
        // It begins with one, of which programs alone make use.
        if case .tokenRefreshed = event, output.style == .text { return }
        let line = JoinLine(event)
        output.say(line.event, line.sentence, line.fields)
    }
}
