internal import Foundation
internal import LiveKitClient
internal import MediaFiles
internal import RTCEngine
internal import RTCNetwork
internal import RTCWire

/// Writes each track that is received into a file of its own, as it was coded, and an index of them.
actor JoinRecorder {
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

    private let folder: URL
    private let indexFile: URL
    private let notice: @Sendable (String) -> Void
    private var room = ""
    private var entries: [Entry] = []
    private var files: [Int: RecordingFile] = [:]
    private var isFinished = false

    /// - Parameter notice: is called with a sentence when a track cannot be recorded any more.
    init(folder: String, notice: @escaping @Sendable (String) -> Void) throws {
        guard !folder.isEmpty else { throw CommandError("--record wants the name of a folder.") }
        self.folder = URL(filePath: folder, directoryHint: .isDirectory)
        self.notice = notice
        do {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        } catch {
            throw CommandError("The folder \(folder) for recordings cannot be made.")
        }
        guard FileManager.default.isWritableFile(atPath: self.folder.path) else {
            throw CommandError("Nothing can be written into the folder \(folder).")
        }
        indexFile = Self.free("index", "json", in: self.folder)
    }

    func begin(room: String) {
        self.room = room
        writeIndex()
    }

    /// Records a track to its end.
    func record(_ track: RemoteTrack, _ frames: AsyncStream<EncodedFrame>) async {
        var place: Int?
        for await frame in frames {
            guard !isFinished else { break }
            do throws(MediaFileError) {
                let now = NetworkLoop.now
                if place == nil {
                    // A recording begins at a picture that can be decoded by itself.
                    guard frame.isKeyFrame else {
                        await track.requestKeyFrame()
                        continue
                    }
                    place = try open(track, frame.format)
                }
                if let place { try files[place]?.receive(frame, at: now) }
            } catch {
                notice("\(track.participant.identity)'s \(track.publication.source.rawValue) is not recorded: \(error)")
                break
            }
        }
        if let place { close(place) }
    }

    private func open(_ track: RemoteTrack, _ format: PayloadFormat) throws(MediaFileError) -> Int {
        let (video, audio) = format.isVideo ? (format, nil) : (nil, format)
        guard let container = Recorder.containers(video: video, audio: audio).first else { throw .unsupportedTracks }
        let (publication, participant) = (track.publication, track.participant)
        // Only the identity and the sid are others' choice; what tells the tracks apart is never cut off.
        let (who, sid) = (Self.safe(participant.identity.rawValue, 120), Self.safe(publication.sid.rawValue, 40))
        let name = "\(who)-\(publication.source.rawValue)-\(sid)"
        let url = Self.free(name, container.fileExtension, in: folder)
        let file = try RecordingFile(path: url.path, video: video, audio: audio, container: container)
        entries.append(
            Entry(
                participant: participant.identity.rawValue, participantName: participant.name,
                track: publication.sid.rawValue, name: publication.name, source: publication.source.rawValue,
                kind: publication.kind.rawValue, codec: publication.mimeType, started: Date(),
                file: url.lastPathComponent))
        files[entries.count - 1] = file
        writeIndex()
        return entries.count - 1
    }

    private func close(_ place: Int) {
        guard let file = files.removeValue(forKey: place) else { return }
        do throws(MediaFileError) {
            try file.finish()
            entries[place].isComplete = true
        } catch {
            notice("\(entries[place].file) is not complete: \(error)")
        }
        entries[place].frames = file.recorder.recordedFrames
        entries[place].duration = file.recorder.duration.seconds
        writeIndex()
    }

    /// Ends all files; returns where the index is.
    func finish() -> String {
        isFinished = true
        for place in files.keys.sorted() { close(place) }
        return indexFile.path
    }

    /// In one step: whoever looks finds a whole one at any time.
    private func writeIndex() {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            try encoder.encode(Index(room: room, recordings: entries)).write(to: indexFile, options: .atomic)
        } catch {
            notice("The index \(indexFile.path) cannot be written.")
        }
    }

    /// Letters, digits and a few signs, of at most so many bytes: what others chose becomes a file's name, and file
    /// systems count bytes.
    private static func safe(_ name: String, _ limit: Int) -> String {
        var result = ""
        for character in name {
            let isSafe = character.isLetter || character.isNumber || "-_".contains(character)
            let next: Character = isSafe ? character : "_"
            guard result.utf8.count + next.utf8.count <= limit else { break }
            result.append(next)
        }
        return result
    }

    /// A recording is never overwritten.
    private static func free(_ name: String, _ fileExtension: String, in folder: URL) -> URL {
        var number = 1
        while true {
            let url = folder.appending(path: name + (number == 1 ? "" : "-\(number)") + "." + fileExtension)
            if !FileManager.default.fileExists(atPath: url.path) { return url }
            number += 1
        }
    }
}
