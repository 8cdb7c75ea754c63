import Foundation
import MediaFiles
import RTCEngine
import RTCWire

/// The committed test media, and the tools that check what we write.
enum TestMedia {
    /// The repository's Media folder, found from this file's place in it.
    private static let folder = repository.appendingPathComponent("Media")

    private static var repository: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    static func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    static func track(_ name: String) throws -> MediaTrack {
        let file = try MediaFile(reading: try bytes(name), name: name)
        guard let track = file.tracks.first else { throw MediaFileError.noUsableTrack(file.container) }
        return track
    }

    /// FNV-1a, 64 bits.
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// Whether the tools are here; the Makefile installs them for the tests.
    static let hasFFmpeg = tool("ffmpeg") != nil && tool("ffprobe") != nil

    private static func tool(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    struct ToolFailure: Error { var arguments: [String] }

    /// Runs ffmpeg or ffprobe with bytes on standard input, as the file `INPUT` among the arguments, and gives its
    /// standard output.
    static func run(_ name: String, _ arguments: [String], input: [UInt8], fileExtension: String) throws -> [UInt8] {
        let temporary = FileManager.default.temporaryDirectory
            .appendingPathComponent("roost-media-test-\(UUID().uuidString).\(fileExtension)")
        try Data(input).write(to: temporary)
        defer { try? FileManager.default.removeItem(at: temporary) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: tool(name) ?? name)
        process.arguments = arguments.map { $0 == "INPUT" ? temporary.path : $0 }
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ToolFailure(arguments: arguments) }
        return [UInt8](data)
    }

    /// `ffprobe -show_entries`, one line for each packet or stream.
    static func probe(_ entries: String, _ input: [UInt8], _ fileExtension: String) throws -> [String] {
        let output = try run(
            "ffprobe", ["-v", "error", "-show_entries", entries, "-of", "csv=p=0", "INPUT"], input: input,
            fileExtension: fileExtension)
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map {
            String($0).trimmingCharacters(in: CharacterSet(charactersIn: ", "))
        }
    }
}

/// Which picture of the test video each decoded frame of an MP4 is.
func counters(_ bytes: [UInt8], from start: String = "0") throws -> [Int?] {
    let gray = try TestMedia.run(
        "ffmpeg",
        [
            "-v", "error", "-ss", start, "-i", "INPUT", "-map", "0:v", "-vf", "scale=320:180", "-fps_mode",
            "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-",
        ], input: bytes, fileExtension: "mp4")
    return (0..<gray.count / 57_600).map { frame in
        FrameCounter.read(
            luma: gray.span.bytes.extracting(frame * 57_600..<(frame + 1) * 57_600), width: 320, height: 180,
            stride: 320)
    }
}

/// A file in memory that takes a recorder's changes.
struct MemoryFile {
    private(set) var bytes: [UInt8] = []

    mutating func apply(_ recorder: inout Recorder) {
        while let change = recorder.pollOutput() {
            switch change {
            case .append(let content): bytes += content
            case .overwrite(let content, let offset):
                bytes.replaceSubrange(offset..<offset + content.count, with: content)
            }
        }
    }
}

/// Records tracks as if a call had delivered them: each frame at its time, from `start` on.
func record(
    video: MediaTrack?, audio: MediaTrack?, audioDelay: Interval = .zero, container: MediaContainer? = nil,
    isFinished: Bool = true
) throws -> (bytes: [UInt8], recorder: Recorder) {
    var recorder = try Recorder(video: video?.format, audio: audio?.format, container: container)
    var file = MemoryFile()
    var deliveries: [(at: Instant, frame: EncodedFrame)] = []
    for track in [video, audio].compactMap({ $0 }) {
        var source = MediaSource(track: track, ending: .stop)
        while let due = source.nextDue, let frame = source.next() {
            deliveries.append((.zero + due + (track.format.isVideo ? .zero : audioDelay), frame))
        }
    }
    for delivery in deliveries.sorted(by: { $0.at < $1.at }) {
        recorder.receive(delivery.frame, at: delivery.at)
        file.apply(&recorder)
    }
    if isFinished { recorder.finish() }
    file.apply(&recorder)
    return (file.bytes, recorder)
}
