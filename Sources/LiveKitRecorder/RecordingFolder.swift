internal import Dispatch
package import Foundation
package import LiveKitClient
package import MediaFiles
package import RTCEngine
package import RTCNetwork
internal import RTCWire

/// Writes each track that is received into a file of its own, as it was coded, and an index of them. On a thread of its
/// own: a disk that is slow holds nobody else up. Folders share that thread, so what waits for the disk has others.
package actor RecordingFolder {
    nonisolated private let loop: NetworkLoop
    nonisolated package var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// One file in the index.
    private struct Entry: Encodable {
        let participant: String
        let participantName: String
        let track: String
        let name: String
        let source: String
        let kind: String
        let codec: String
        /// When its first frame came.
        let started: Date
        let file: String
        var frames = 0
        /// In seconds.
        var duration = 0.0
        /// The track has ended, and the file is complete.
        var isComplete = false

        enum CodingKeys: String, CodingKey {
            case participant, track, name, source, kind, codec, started, file, frames, duration
            case participantName = "participant_name"
            case isComplete = "complete"
        }
    }

    private struct Index: Encodable {
        var room: String
        var recordings: [Entry]
    }

    private struct OpenFile {
        let file: RecordingFile
        let format: PayloadFormat
        let startedAt: Int64
        /// Of its track.
        let missed: MissedFrames
    }

    private let folder: URL
    private let indexName: String
    private let limit: Int
    private let changeLimit: Int
    /// How long pictures may stay smaller than announced before they are taken as they are.
    private let sizePatience: Interval
    /// Once there is one.
    private var indexFile: URL?
    private let notice: @Sendable (RecordingNotice) -> Void
    private var room = ""
    private var roomID = ""
    private var entries: [Entry] = []
    private var files: [Int: OpenFile] = [:]
    /// What ends the frames of those that are being written, until their files are closed, and who waits until none is.
    private var writers: [Int: FrameStreamEnd] = [:]
    private var lastWriter = 0
    private var waitingForWriters: [CheckedContinuation<Void, Never>] = []
    private let sync: @Sendable (WrittenFile) -> MediaFileError?
    /// Nothing more is taken.
    private(set) var isFinished = false
    /// When all writing of the index is made up for.
    private var indexSpent: Instant?
    /// Writes it when it may be written again.
    private var indexing: Task<Void, Never>?
    /// The last try to write it has failed.
    private var owesIndex = false
    /// Tries to write it again. Nobody who is told of a file's end waits for that.
    private var indexRetry: Task<Void, Never>?
    private let indexPatience: Duration
    private var nextIndexPatience: Duration
    /// How often it was written.
    private(set) var indexWrites = 0
    /// The first file that could not be written to its end, and the index while it is not what it should be.
    private var fileLoss: RecordingNotice?
    private var indexLoss: RecordingNotice?
    /// How many files the index names.
    package var fileCount: Int { entries.count }
    /// What could not be written of all that came; nil when everything was.
    package var loss: RecordingNotice? { fileLoss ?? indexLoss }

    /// Files in one index. Who publishes and withdraws tracks without end fills neither the index nor the folder.
    package static let fileLimit = 1_000
    /// Changes of its codec in which a track's recording goes on in another file: one track does not use up its
    /// room's files.
    package static let changeLimit = 50
    /// Writing the index takes as long as it is, and tracks may come and go faster.
    static let indexPace = Pace(burst: 10, interval: .seconds(Int64(1)))
    /// After so long an index that could not be written is tried again, and then each time after twice as long.
    package static let indexPatience = Duration.seconds(5)
    /// So long what waits for the disk when the recording ends may take. What stops services kills after ten seconds,
    /// and the index is still to be written.
    package static let finishPatience = Duration.seconds(7)
    private static let longestIndexPatience = Duration.seconds(60)
    /// Waits for disks. Not among the threads that tasks have, of which there are few.
    private static let disk = DispatchQueue(label: "roost-recorder-disk", qos: .utility, attributes: .concurrent)

    /// - Parameters:
    ///   - index: what the index is called, without its extension.
    ///   - limit: files at most.
    ///   - changeLimit: changes of codec in one recording of a track at most.
    ///   - indexPatience: after how long an index that could not be written is tried again.
    ///   - loop: does the writing.
    ///   - notice: is called when a track cannot be recorded any more, or the index not be written.
    ///   - sync: waits until the disk has a file, and says why it has not; on another thread.
    package init(
        _ folder: String, index: String = "index", limit: Int = RecordingFolder.fileLimit,
        changeLimit: Int = RecordingFolder.changeLimit, sizePatience: Interval = .seconds(Int64(3)),
        indexPatience: Duration = RecordingFolder.indexPatience, loop: NetworkLoop,
        notice: @escaping @Sendable (RecordingNotice) -> Void,
        sync: @escaping @Sendable (WrittenFile) -> MediaFileError? = { $0.sync() }
    ) {
        self.folder = URL(filePath: folder, directoryHint: .isDirectory)
        indexName = index
        self.limit = limit
        self.changeLimit = changeLimit
        self.sizePatience = sizePatience
        self.indexPatience = indexPatience
        nextIndexPatience = indexPatience
        self.loop = loop
        self.sync = sync
        self.notice = notice
    }

    /// Makes the folder if it is not there, and looks whether it can be written into. What people say is for whoever
    /// runs this: other users of the machine look neither into folders that it makes nor into files.
    package static func prepare(_ folder: String) throws(RecordingFolderError) {
        do {
            try FileManager.default.createDirectory(
                at: URL(filePath: folder, directoryHint: .isDirectory), withIntermediateDirectories: true,
                attributes: folderAttributes)
        } catch {
            throw .cannotBeMade(folder: folder)
        }
        guard FileManager.default.isWritableFile(atPath: folder) else { throw .unwritable(folder: folder) }
    }

    private static var folderAttributes: [FileAttributeKey: Any] { [.posixPermissions: 0o700] }

    /// Makes the folder if it is not there, and an index. Repeatable.
    package func begin(room: String, id: String = "") throws(RecordingFolderError) {
        (self.room, roomID) = (room, id)
        // Until it is written.
        indexLoss = .index(index.path)
        try Self.prepare(folder.path)
        indexChanged()
    }

    /// Records a track to its end.
    ///
    /// - Parameters:
    ///   - frames: are placed by when they were received, however late they are taken.
    ///   - end: lets `finish` end these.
    ///   - missed: what of them was not taken in time, which makes a file that is not complete.
    ///   - template: what the file is to be called, see `RecordingPath`.
    ///   - began: is called when there is a file, with its path from the folder on.
    ///   - changed: is called with the file when another one takes its place, as the track's codec has changed, once
    ///     the index has all of it.
    /// - Returns: the last file, once the index has all of it; nil if nothing came that one can begin with. What of the
    ///   track is missing, as of a codec in which the key frames that came were none to begin a file with.
    /// - Throws: what was written before stays, and plays.
    package func record(
        _ track: RemoteTrack, _ frames: AsyncStream<EncodedFrame>, end: FrameStreamEnd = .nothing,
        missed: MissedFrames = MissedFrames(), as template: String = RecordingPath.usualName,
        began: @Sendable (String) async -> Void = { _ in }, changed: @Sendable (RecordedFile) async -> Void = { _ in }
    ) async -> (file: RecordedFile?, failure: RecordingFailure?) {
        guard track.isReadable else {
            notice(.track(of: track.participant.identity, track.publication.source, .encrypted))
            return (nil, .encrypted)
        }
        guard !isFinished else { return (nil, nil) }
        lastWriter += 1
        let writer = lastWriter
        writers[writer] = end
        let (place, failure) = await write(track, frames, missed, as: template, began: began, changed: changed)
        // Of which file something is missing has been told.
        if let failure, !failure.isHole {
            tell(.track(of: track.participant.identity, track.publication.source, failure), failure)
        }
        guard let place else {
            ended(writer)
            // Frames that came before there was a file, and that nobody waits for any more.
            let missing = isFinished && failure == nil ? missed.take() : 0
            guard missing > 0 else { return (nil, failure) }
            let loss = RecordingFailure.fellBehind(frames: missing)
            tell(.track(of: track.participant.identity, track.publication.source, loss), loss)
            return (nil, loss)
        }
        let (file, problem) = await close(place)
        // What could not be written to cannot be ended either, and that was told.
        if let problem, problem != failure { tell(.file(entries[place].file, problem), problem) }
        ended(writer)
        // Whoever is told of the end is to find it in the index.
        await indexing?.value
        // What has ended the recording counts before what is missing in its midst.
        let failures = [failure, problem].compactMap { $0 }
        return (file, failures.first { !$0.isHole } ?? failures.first)
    }

    /// - Returns: what has to be closed, if there is anything, and what has ended the writing before the track did.
    private func write(
        _ track: RemoteTrack, _ frames: AsyncStream<EncodedFrame>, _ missed: MissedFrames, as template: String,
        began: @Sendable (String) async -> Void, changed: @Sendable (RecordedFile) async -> Void
    ) async -> (place: Int?, failure: RecordingFailure?) {
        var beginning = RecordingBeginning(of: track.publication, patience: sizePatience)
        var place: Int?
        var changes = 0
        var hole: RecordingFailure?
        for await frame in frames {
            // This thread may be late: by its clock a backlog would be sound that comes all at once.
            let now = frame.receivedAt ?? NetworkLoop.now
            // A file is of one codec, and a server may go over to another one in mid-track.
            let isFirst = place.map { files[$0]?.format != frame.format } ?? true
            do throws(MediaFileError) {
                if isFirst {
                    guard entries.count < limit else { return (place, .tooManyFiles(limit: limit)) }
                    guard changes < changeLimit else { return (place, .tooManyChanges(limit: changeLimit)) }
                    let verdict = try beginning.verdict(on: frame, at: now)
                    if verdict == .needsKeyFrame { await track.requestKeyFrame() }
                    guard verdict == .here else { continue }
                    if let earlier = place {
                        place = nil
                        changes += 1
                        let (file, failure) = await close(earlier)
                        await indexing?.value
                        if let file { await changed(file) }
                        if let failure {
                            guard failure.isHole else { return (nil, failure) }
                            tell(.file(entries[earlier].file, failure), failure)
                            hole = hole ?? failure
                        }
                        // Meanwhile others may have begun files.
                        guard entries.count < limit else { return (nil, .tooManyFiles(limit: limit)) }
                    }
                }
                let current =
                    if let place { place } else { try open(track, frame.format, missed, template, at: now) }
                place = current
                try files[current]?.file.receive(frame, at: now)
                if isFirst { await began(entries[current].file) }
            } catch {
                return (place, RecordingFailure(error, codec: frame.format.mimeType))
            }
        }
        return (place, beginning.failure ?? hole)
    }

    /// - Parameter now: when the file's first frame came: the index may have been waited for since.
    private func open(
        _ track: RemoteTrack, _ format: PayloadFormat, _ missed: MissedFrames, _ template: String, at now: Instant
    ) throws(MediaFileError) -> Int {
        let (video, audio) = format.isVideo ? (format, nil) : (nil, format)
        guard let container = Recorder.containers(video: video, audio: audio).first else { throw .unsupportedTracks }
        let (publication, participant) = (track.publication, track.participant)
        let startedAt = Self.unixTime(of: now)
        var subject = RecordingPath.Subject(time: Date(timeIntervalSince1970: Double(startedAt) / 1_000_000_000))
        subject.roomName = room
        subject.roomID = roomID
        subject.publisherIdentity = participant.identity.rawValue
        subject.trackID = publication.sid.rawValue
        subject.trackType = publication.kind.rawValue
        subject.trackSource = publication.source.rawValue
        let path = RecordingPath(template, of: subject)
        do {
            try FileManager.default.createDirectory(
                at: folder.appending(path: path.components.dropLast().joined(separator: "/")),
                withIntermediateDirectories: true, attributes: Self.folderAttributes)
        } catch {
            throw (error as NSError).code == CocoaError.Code.fileWriteOutOfSpace.rawValue
                ? .diskFull(file: path.description) : .unwritable(file: path.description)
        }
        let url = Self.claim(
            path.components, container.fileExtension, in: folder, except: Set(entries.map(\.file)))
        let file = try RecordingFile(path: url.path, video: video, audio: audio, container: container)
        entries.append(
            Entry(
                participant: participant.identity.rawValue, participantName: participant.name,
                track: publication.sid.rawValue, name: publication.name, source: publication.source.rawValue,
                // What comes with earlier packets (RFC 2198) is written without.
                kind: publication.kind.rawValue, codec: format.mimeType,
                started: subject.time,
                file: (path.components.dropLast() + [url.lastPathComponent]).joined(separator: "/")))
        files[entries.count - 1] = OpenFile(
            file: file, format: format, startedAt: startedAt, missed: missed)
        indexChanged()
        return entries.count - 1
    }

    /// - Returns: the file, and why it is not complete.
    private func close(_ place: Int) async -> (RecordedFile?, RecordingFailure?) {
        guard let open = files.removeValue(forKey: place) else { return (nil, nil) }
        let endedAt = Self.unixTime(of: NetworkLoop.now)
        // What is missed from here on belongs into the next file.
        let missing = open.missed.take()
        var failure: RecordingFailure?
        do throws(MediaFileError) {
            let written = try open.file.writeEnd()
            if let error = await putOnDisk(written) { throw error }
        } catch {
            failure = RecordingFailure(error, codec: entries[place].codec)
        }
        if failure == nil, missing > 0 { failure = .fellBehind(frames: missing) }
        let written = open.file.written
        entries[place].frames = written.frames
        entries[place].duration = written.length.seconds
        entries[place].isComplete = failure == nil
        indexChanged()
        let file = RecordedFile(
            path: entries[place].file, startedAt: open.startedAt, endedAt: endedAt,
            duration: written.length.nanoseconds, size: open.file.size, isComplete: failure == nil)
        return (file, failure)
    }

    /// Without this thread: others write on meanwhile.
    private func putOnDisk(_ file: WrittenFile) async -> MediaFileError? {
        let sync = sync
        return await withCheckedContinuation { continuation in
            Self.disk.async { continuation.resume(returning: sync(file)) }
        }
    }

    private func ended(_ writer: Int) {
        writers[writer] = nil
        guard writers.isEmpty else { return }
        for waiting in waitingForWriters { waiting.resume() }
        waitingForWriters = []
    }

    /// Ends all files, with what has come by now; returns where the index is.
    ///
    /// - Parameter patience: what cannot be written in that time is missing, and is told.
    @discardableResult
    package func finish(within patience: Duration = RecordingFolder.finishPatience) async -> String {
        isFinished = true
        for end in writers.values { end() }
        let timeout = Task {
            guard (try? await Task.sleep(for: patience)) != nil else { return }
            for end in writers.values { end.atOnce() }
        }
        if !writers.isEmpty { await withCheckedContinuation { waitingForWriters.append($0) } }
        timeout.cancel()
        indexRetry?.cancel()
        if let indexing {
            indexing.cancel()
            writeIndex()
        } else if owesIndex {
            writeIndex(isRetry: true)
        }
        return index.path
    }

    /// Writes the index if that failed when it was to be written, or fails now that it is.
    ///
    /// - Returns: whether nothing of it is owed now.
    @discardableResult
    package func writeOwedIndex() async -> Bool {
        await indexing?.value
        if owesIndex { writeIndex(isRetry: true) }
        return !owesIndex
    }

    private var index: URL {
        let file = indexFile ?? Self.free([indexName], "json", in: folder)
        indexFile = file
        return file
    }

    /// In nanoseconds.
    private static func unixTime(of instant: Instant) -> Int64 {
        (instant + NetworkLoop.wallClockOffset).nanoseconds
    }

    /// Has it written, at once or as soon as its pace allows.
    private func indexChanged() {
        guard indexing == nil else { return }
        guard let wait = Self.indexPace.take(&indexSpent, at: NetworkLoop.now) else { return writeIndex() }
        indexing = Task {
            try? await Task.sleep(for: wait.duration)
            // It may have been written meanwhile.
            guard indexing != nil else { return }
            _ = Self.indexPace.take(&indexSpent, at: NetworkLoop.now)
            writeIndex()
        }
    }

    /// Has it tried again by and by, as long as somebody has this folder.
    private func tryIndexLater() {
        guard indexRetry == nil, !isFinished else { return }
        let wait = nextIndexPatience
        nextIndexPatience = min(wait * 2, Self.longestIndexPatience)
        indexRetry = Task { [weak self] in
            guard (try? await Task.sleep(for: wait)) != nil else { return }
            await self?.tryIndexAgain()
        }
    }

    private func tryIndexAgain() {
        indexRetry = nil
        // It may be about to be written anyhow.
        if owesIndex, indexing == nil { writeIndex(isRetry: true) }
    }

    /// In one step: whoever looks finds a whole one at any time.
    ///
    /// - Parameter isRetry: that it cannot be written has been told.
    private func writeIndex(isRetry: Bool = false) {
        indexing = nil
        indexWrites += 1
        let encoder = JSONEncoder()
        // Tracks of one person are put side by side by these.
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        }
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            try Self.replace(index, by: encoder.encode(Index(room: room, recordings: entries)))
            indexLoss = nil
            owesIndex = false
            nextIndexPatience = indexPatience
            indexRetry?.cancel()
            indexRetry = nil
        } catch {
            indexLoss = .index(index.path)
            owesIndex = true
            if !isRetry { notice(.index(index.path)) }
            tryIndexLater()
        }
    }

    private static func replace(_ file: URL, by content: Data) throws {
        let partial = file.path + ".part"
        // What a process left that ended in the midst of it, or what somebody put there, is not written to.
        unlink(partial)
        let descriptor = Foundation.open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        // Nothing is left of one that could not be written.
        defer { unlink(partial) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: content)
        guard rename(partial, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    private func tell(_ what: RecordingNotice, _ failure: RecordingFailure) {
        if failure.isLoss { fileLoss = fileLoss ?? what }
        notice(what)
    }

    /// A name that is free, with an empty file: whoever records into the same folder has another one. What hinders
    /// that, the recording finds out.
    ///
    /// - Parameter taken: paths from the folder on that are not free, though there may be no such files any more.
    package static func claim(
        _ components: [String], _ fileExtension: String, in folder: URL, except taken: Set<String> = []
    ) -> URL {
        while true {
            let url = free(components, fileExtension, in: folder, except: taken)
            let descriptor = Foundation.open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor < 0 else {
                Foundation.close(descriptor)
                return url
            }
            guard errno == EEXIST else { return url }
        }
    }

    /// A recording is never overwritten. Folders may have many of one name, so the first number that is free is looked
    /// for by doubling and then between the last two, which finds it where none below it is.
    static func free(
        _ components: [String], _ fileExtension: String, in folder: URL, except names: Set<String> = []
    ) -> URL {
        func path(_ number: Int) -> String {
            components.joined(separator: "/") + (number == 1 ? "" : "-\(number)") + "." + fileExtension
        }
        func url(_ number: Int) -> URL { folder.appending(path: path(number)) }
        // A link that leads nowhere has the name, too.
        func isTaken(_ number: Int) -> Bool {
            var status = stat()
            return names.contains(path(number)) || lstat(url(number).path, &status) == 0
        }
        var (taken, free) = (0, 1)
        while isTaken(free) { (taken, free) = (free, free * 2) }
        while free - taken > 1 {
            let middle = (taken + free) / 2
            if isTaken(middle) { taken = middle } else { free = middle }
        }
        return url(free)
    }
}
