import Foundation
import LiveKitProtocol
import MediaFiles
import RTCEngine
import RTCWire
import Synchronization
import Testing

@testable import LiveKitClient
@testable import LiveKitRecorder
@testable import RTCNetwork

/// What a folder takes, and how often its index is written.
@Suite(.timeLimit(.minutes(1))) struct RecordingFolderTests {
    private struct Index: Decodable {
        struct Recording: Decodable {
            let file: String
            let codec: String
            let frames: Int
            let complete: Bool
        }
        let recordings: [Recording]
    }

    /// One track's worth of frames that can be ended.
    private struct Source {
        let track: RemoteTrack
        let frames: AsyncStream<EncodedFrame>
        let more: AsyncStream<EncodedFrame>.Continuation

        init(_ number: Int) throws {
            var info = LiveKitTrackInfo()
            info.sid = "TR_\(number)"
            info.type = .audio
            info.mimeType = "audio/opus"
            var person = LiveKitParticipantInfo()
            person.identity = "ann"
            track = RemoteTrack(
                publication: try #require(RemoteTrackPublication(info)), participant: RemoteParticipant(person),
                receiver: RTPReceiver(kind: .audio), askForKeyFrame: {})
            (frames, more) = AsyncStream.makeStream()
            more.yield(EncodedFrame(payload: [0x78, 1], timestamp: 0, isKeyFrame: true, format: .opus))
        }
    }

    /// How often a publisher was asked for a key frame.
    private final class Asked: Sendable {
        private let times = Mutex(0)
        var count: Int { times.withLock { $0 } }
        func ask() { times.withLock { $0 += 1 } }
    }

    /// Which files began and ended, or what could not be recorded.
    private final class Told: Sendable {
        private let all = Mutex<[String]>([])
        var lines: [String] { all.withLock { $0 } }
        func tell(_ line: String) { all.withLock { $0.append(line) } }
    }

    /// A camera that was announced as 1280 by 720 pixels, and all that comes of it.
    private static func camera(
        _ payloads: [[UInt8]], _ format: PayloadFormat = .vp8, asked: Asked = Asked()
    ) throws -> (RemoteTrack, AsyncStream<EncodedFrame>) {
        var info = LiveKitTrackInfo()
        info.sid = "TR_camera"
        info.type = .video
        info.mimeType = "video/\(format)"
        (info.width, info.height) = (1_280, 720)
        var person = LiveKitParticipantInfo()
        person.identity = "ann"
        let track = RemoteTrack(
            publication: try #require(RemoteTrackPublication(info)), participant: RemoteParticipant(person),
            receiver: RTPReceiver(kind: .video), askForKeyFrame: { asked.ask() })
        let (frames, more) = AsyncStream.makeStream(of: EncodedFrame.self)
        for (number, payload) in payloads.enumerated() {
            // Of VP8 packets tell it by a bit, whatever follows.
            let isKeyFrame = format == .vp8 ? payload[0] & 1 == 0 : format.isKeyFrame(payload.span.bytes)
            more.yield(
                EncodedFrame(
                    payload: payload, timestamp: UInt32(number) * 3_000, isKeyFrame: isKeyFrame, format: format))
        }
        more.finish()
        return (track, frames)
    }

    /// VP8, of so many pixels and nine sixteenths.
    private static func keyFrame(_ width: UInt16) -> [UInt8] {
        let height = width / 16 * 9
        let size = [UInt8(width & 0xff), UInt8(width >> 8), UInt8(height & 0xff), UInt8(height >> 8)]
        return [0x10, 0, 0, 0x9d, 0x01, 0x2a] + size + [0, 0, 0]
    }

    private static let deltaFrame: [UInt8] = [0x11, 0, 0, 0]

    /// Waits for the size that was announced for as long as it takes.
    private static func patient(_ url: URL) -> RecordingFolder {
        RecordingFolder(url.path, sizePatience: .seconds(Int64(600)), loop: NetworkLoop(name: "test"), notice: { _ in })
    }

    @Test func `a file begins at a picture of the size that was announced`() async throws {
        try await Self.inFolder { url in
            let folder = Self.patient(url)
            try await folder.begin(room: "kitchen")
            let (track, frames) = try Self.camera([320, 640, 1_280, 320].map(Self.keyFrame))
            let name = try #require(await folder.record(track, frames).file).path
            // Matroska's PixelWidth: two bytes, 1280.
            let file = try Data(contentsOf: url.appending(path: name))
            #expect(file.firstRange(of: Data([0xb0, 0x82, 0x05, 0x00])) != nil)
            // Of one that never becomes as large, nothing is recorded in so short a time.
            let (small, few) = try Self.camera([320, 640].map(Self.keyFrame))
            #expect(await folder.record(small, few).file == nil)
            let impatient = RecordingFolder(
                url.path, index: "other", sizePatience: .zero, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await impatient.begin(room: "kitchen")
            let (still, more) = try Self.camera([320, 640].map(Self.keyFrame))
            #expect(await impatient.record(still, more).file != nil)
        }
    }

    @Test
    func `who comes in the midst of a track asks for a key frame at once, and not while it begins small`() async throws
    {
        try await Self.inFolder { url in
            let folder = Self.patient(url)
            try await folder.begin(room: "kitchen")
            let asked = Asked()
            let (track, frames) = try Self.camera(
                [Self.deltaFrame, Self.keyFrame(1_280), Self.deltaFrame], asked: asked)
            #expect(await folder.record(track, frames).file != nil)
            #expect(asked.count == 1)
            let left = Asked()
            let (small, few) = try Self.camera([Self.keyFrame(320), Self.deltaFrame, Self.deltaFrame], asked: left)
            #expect(await folder.record(small, few).file == nil)
            #expect(left.count == 0)
        }
    }

    @Test func `a key picture of three layers of VP9 is as large as the highest, and begins the file`() async throws {
        try await Self.inFolder { url in
            // The lowest is a key frame of 320 by 180 pixels; those above are predicted from it, and tell their size.
            let layers: [[UInt8]] = [
                [0x83, 0x49, 0x83, 0x42, 0x00, 0x13, 0xf0, 0x0b, 0x38],
                [0x87, 0x02, 0x02, 0x00, 0x04, 0xfe, 0x02, 0xcf, 0x04],
                [0x87, 0x04, 0x24, 0x00, 0x09, 0xfe, 0x05, 0x9e, 0x90],
            ]
            var picture = layers.flatMap { $0 }
            VP9Superframe(sizes: layers.map(\.count)).appendIndex(to: &picture)
            let folder = Self.patient(url)
            try await folder.begin(room: "kitchen")
            let (track, frames) = try Self.camera([picture], .vp9)
            let name = try #require(await folder.record(track, frames).file).path
            // The size in the header of an IVF.
            let file = try Data(contentsOf: url.appending(path: name))
            #expect([UInt8](file[12..<16]) == [0x00, 0x05, 0xd0, 0x02])
        }
    }

    /// AV1 with a sequence header that is cut off; H.264 without parameter sets, and with one that does not parse; VP8
    /// without the start code.
    @Test(
        arguments: [
            (.av1, [0x0a, 2, 0, 0, 0x32, 1, 0x10]), (.h264, [0, 0, 0, 1, 0x65, 0x88, 0x84]),
            (.h264, [0, 0, 0, 1, 0x67, 66, 0xe0, 31, 0x80, 0, 0, 0, 1, 0x68, 0x80, 0, 0, 0, 1, 0x65, 0x88, 0x84]),
            (.vp8, [0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ] as [(PayloadFormat, [UInt8])])
    func `a track whose key frames are none to begin a file with leaves no file, and says so`(
        format: PayloadFormat, payload: [UInt8]
    ) async throws {
        try await Self.inFolder { url in
            let folder = Self.patient(url)
            try await folder.begin(room: "kitchen")
            let asked = Asked()
            let (track, frames) = try Self.camera([payload, payload], format, asked: asked)
            let (file, failure) = await folder.record(track, frames)
            #expect(file == nil && failure == .noBeginning(codec: format.mimeType))
            #expect(asked.count == 2)
            #expect(try FileManager.default.contentsOfDirectory(atPath: url.path) == ["index.json"])
        }
    }

    @Test func `a key frame that no file can begin with is passed over for the next one`() async throws {
        try await Self.inFolder { url in
            let folder = Self.patient(url)
            try await folder.begin(room: "kitchen")
            let broken: [UInt8] = [0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
            let (track, frames) = try Self.camera([broken, Self.deltaFrame, Self.keyFrame(1_280)])
            let (file, failure) = await folder.record(track, frames)
            #expect(file != nil && failure == nil)
        }
    }

    @Test func `a track whose codec changes goes on in another file, and each is complete`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(
                url.path, sizePatience: .zero, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let (track, _) = try Self.camera([])
            let (frames, more) = AsyncStream.makeStream(of: EncodedFrame.self)
            let pictures: [(PayloadFormat, [UInt8], Bool)] = [
                (.vp8, Self.keyFrame(1_280), true), (.vp8, Self.deltaFrame, false),
                // Nothing can begin here.
                (.vp9, Self.vp9.payload, false), (.vp9, Self.vp9.payload, true), (.vp9, Self.vp9.payload, false),
            ]
            for (number, picture) in pictures.enumerated() {
                more.yield(
                    EncodedFrame(
                        payload: picture.1, timestamp: UInt32(number) * 3_000, isKeyFrame: picture.2,
                        format: picture.0))
            }
            more.finish()
            let told = Told()
            let (file, failure) = await folder.record(
                track, frames, began: { told.tell("+" + $0) }, changed: { told.tell("-" + $0.path) })
            let name = "ann-unknown-TR_camera"
            #expect(told.lines == ["+\(name).webm", "-\(name).webm", "+\(name).ivf"])
            #expect(file?.path == name + ".ivf" && failure == nil)
            let recordings = try Self.index(url)
            #expect(recordings.map(\.file) == [name + ".webm", name + ".ivf"])
            #expect(recordings.map(\.codec) == ["video/VP8", "video/VP9"])
            #expect(recordings.map(\.frames) == [2, 2] && recordings.allSatisfy(\.complete))
        }
    }

    private typealias Picture = (format: PayloadFormat, payload: [UInt8])
    private static let vp8: Picture = (.vp8, keyFrame(1_280))
    private static let vp9: Picture = (
        .vp9, [0x83, 0x49, 0x83, 0x42, 0x00, 0x13, 0xf0, 0x0b, 0x38, 0x27, 0xf8, 0, 0, 0, 0, 0]
    )
    /// Without parameter sets.
    private static let bareH265: Picture = (.h265, [0, 0, 0, 1, 0x26, 0x01])
    /// Without the start code.
    private static let brokenVP8: Picture = (.vp8, [0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    /// With a sequence header that is cut off.
    private static let brokenAV1: Picture = (.av1, [0x0a, 2, 0, 0, 0x32, 1, 0x10])

    private static func keyFrames(_ pictures: [Picture]) -> AsyncStream<EncodedFrame> {
        let (frames, more) = AsyncStream.makeStream(of: EncodedFrame.self)
        for (number, picture) in pictures.enumerated() {
            more.yield(
                EncodedFrame(
                    payload: picture.payload, timestamp: UInt32(number) * 3_000, isKeyFrame: true,
                    format: picture.format))
        }
        more.finish()
        return frames
    }

    /// Tells what could not be recorded.
    private static func folder(
        _ url: URL, limit: Int = 1_000, changeLimit: Int = 50, _ told: Told
    ) async throws -> RecordingFolder {
        let folder = RecordingFolder(
            url.path, limit: limit, changeLimit: changeLimit, sizePatience: .zero, loop: NetworkLoop(name: "test"),
            notice: { told.tell($0.description) })
        try await folder.begin(room: "kitchen")
        return folder
    }

    @Test func `who is told of a file that a change of codec has ended finds it in the index`() async throws {
        try await Self.inFolder { url in
            let folder = try await Self.folder(url, Told())
            // From here on the index is written once a second.
            for _ in 0..<10 { try await folder.begin(room: "kitchen") }
            let found = Told()
            let (track, _) = try Self.camera([])
            _ = await folder.record(
                track, Self.keyFrames([Self.vp8, Self.vp9]),
                changed: { file in
                    let index = (try? Self.index(url)) ?? []
                    for entry in index where entry.complete && entry.file == file.path { found.tell(entry.file) }
                })
            #expect(found.lines == ["ann-unknown-TR_camera.webm"])
        }
    }

    @Test func `a file behind a change of codec begins when its first picture came, not when the index was written`()
        async throws
    {
        try await Self.inFolder { url in
            let folder = try await Self.folder(url, Told())
            // From here on the index is written once a second.
            for _ in 0..<10 { try await folder.begin(room: "kitchen") }
            let ends = Told()
            let (track, _) = try Self.camera([])
            let (file, _) = await folder.record(
                track, Self.keyFrames([Self.vp8, Self.vp9]), changed: { ends.tell("\($0.endedAt)") })
            let end = try #require(ends.lines.first.flatMap { Int64($0) })
            let start = try #require(file).startedAt
            #expect(start <= end)
        }
    }

    @Test func `what is missed while the file before a change of codec is closed is missing in the one behind it`()
        async throws
    {
        try await Self.inFolder { url in
            let missed = MissedFrames()
            let closed = Told()
            let folder = RecordingFolder(
                url.path, sizePatience: .zero, loop: NetworkLoop(name: "test"), notice: { _ in },
                sync: { file in
                    if closed.lines.isEmpty { missed.add(5) }
                    closed.tell("a file")
                    return file.sync()
                })
            try await folder.begin(room: "kitchen")
            let (track, _) = try Self.camera([])
            let (_, failure) = await folder.record(track, Self.keyFrames([Self.vp8, Self.vp9]), missed: missed)
            #expect(failure == .fellBehind(frames: 5))
            #expect(try Self.index(url).map(\.complete) == [true, false])
        }
    }

    @Test func `the last file of a folder is not also that of a track whose codec changes meanwhile`() async throws {
        try await Self.inFolder { url in
            let folder = try await Self.folder(url, limit: 2, Told())
            let source = try Source(1)
            source.more.finish()
            let (track, _) = try Self.camera([])
            let (_, failure) = await folder.record(
                track, Self.keyFrames([Self.vp8, Self.vp9]),
                changed: { _ in _ = await folder.record(source.track, source.frames) })
            #expect(failure == .tooManyFiles(limit: 2))
            let recordings = try Self.index(url)
            #expect(recordings.map(\.codec) == ["video/VP8", "audio/opus"] && recordings.allSatisfy(\.complete))
        }
    }

    @Test func `key frames that no file can begin with are told, once, also behind a change of codec`() async throws {
        try await Self.inFolder { url in
            let told = Told()
            let folder = try await Self.folder(url, told)
            let (track, _) = try Self.camera([])
            let (file, failure) = await folder.record(
                track, Self.keyFrames([Self.vp8, Self.brokenAV1, Self.brokenAV1]))
            #expect(file?.path == "ann-unknown-TR_camera.webm" && failure == .noBeginning(codec: "video/AV1"))
            #expect(told.lines.count == 1)
            // Of a codec in which others had been fine.
            let frames = Self.keyFrames([Self.vp8, Self.vp9, Self.brokenVP8])
            #expect(await folder.record(track, frames).failure == .noBeginning(codec: "video/VP8"))
            let bare = Self.keyFrames([Self.vp8, Self.bareH265])
            #expect(await folder.record(track, bare).failure == .noBeginning(codec: "video/H265"))
            #expect(try Self.index(url).map(\.complete) == [true, true, true, true])
        }
    }

    @Test func `a track that changes its codec without end is recorded no more, and others are`() async throws {
        try await Self.inFolder { url in
            let told = Told()
            let folder = try await Self.folder(url, changeLimit: 2, told)
            let (track, _) = try Self.camera([])
            let (file, failure) = await folder.record(
                track, Self.keyFrames([Self.vp8, Self.vp9, Self.vp8, Self.vp9, Self.vp8]))
            #expect(file?.path == "ann-unknown-TR_camera-2.webm" && failure == .tooManyChanges(limit: 2))
            #expect(told.lines.count == 1)
            let source = try Source(1)
            source.more.finish()
            #expect(await folder.record(source.track, source.frames).failure == nil)
            let recordings = try Self.index(url)
            #expect(recordings.count == 4 && recordings.allSatisfy(\.complete))
        }
    }

    @Test(arguments: [false, true])
    func `that the disk is full when a file ends is told once`(codecChanges: Bool) async throws {
        try await Self.inFolder { url in
            let told = Told()
            let folder = try await Self.folder(url, told)
            let (track, _) = try Self.camera([])
            let (_, failure) = await folder.record(
                track, Self.keyFrames(codecChanges ? [Self.vp8, Self.vp9] : [Self.vp8]),
                began: { fillDisk(under: url.appending(path: $0)) })
            #expect(failure == .diskFull)
            #expect(told.lines.count == 1 && told.lines.allSatisfy { $0.hasSuffix("The disk is full.") })
            let recordings = try Self.index(url)
            #expect(recordings.map(\.complete) == [false] && recordings.map(\.frames) == [0])
        }
    }

    private static func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "roost-folder-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private static func index(_ folder: URL) throws -> [Index.Recording] {
        try JSONDecoder().decode(Index.self, from: Data(contentsOf: folder.appending(path: "index.json"))).recordings
    }

    @Test func `a folder takes so many files of a room, and says why no more`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(url.path, limit: 3, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            for number in 1...4 {
                let source = try Source(number)
                source.more.finish()
                let (file, failure) = await folder.record(source.track, source.frames)
                #expect((file == nil) == (number == 4))
                #expect(failure == (number == 4 ? .tooManyFiles(limit: 3) : nil))
            }
            let recordings = try Self.index(url)
            #expect(recordings.count == 3 && recordings.allSatisfy(\.complete))
        }
    }

    @Test func `the index is not written for each of many tracks, and who is told finds it whole`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(url.path, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let sources = try (0..<60).map { try Source($0) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for source in sources {
                    group.addTask {
                        let (file, failure) = await folder.record(source.track, source.frames)
                        let name = try #require(file).path
                        #expect(failure == nil)
                        #expect(try Self.index(url).contains { $0.file == name && $0.complete })
                    }
                }
                for source in sources { source.more.finish() }
                try await group.waitForAll()
            }
            // Of a hundred and twenty changes, and some of them a second apart.
            #expect(await folder.indexWrites < 40)
            #expect(try Self.index(url).count == 60)
        }
    }

    @Test func `what is recorded is for the user alone who records`() async throws {
        try await Self.inFolder { url in
            let url = url.appending(path: "recordings")
            let folder = RecordingFolder(url.path, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let source = try Source(1)
            source.more.finish()
            let file = try #require(await folder.record(source.track, source.frames, as: "monday/film").file)
            #expect(file.path == "monday/film.ogg")
            for (path, mode) in [("", 0o700), ("monday", 0o700), (file.path, 0o600), ("index.json", 0o600)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: url.path + "/" + path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode, "\(path)")
            }
        }
    }

    @Test func `a file has the first number that is free`() async throws {
        try await Self.inFolder { url in
            func next() -> String { RecordingFolder.free(["film"], "ogg", in: url).lastPathComponent }
            for number in 1...100 {
                #expect(next() == (number == 1 ? "film.ogg" : "film-\(number).ogg"))
                try Data().write(to: url.appending(path: next()))
            }
            // Nobody else has a name that was taken.
            let claimed = (0..<3).map { _ in RecordingFolder.claim(["film"], "ogg", in: url).lastPathComponent }
            #expect(claimed == ["film-101.ogg", "film-102.ogg", "film-103.ogg"])
            // Nor what a link is called that leads nowhere.
            try FileManager.default.createSymbolicLink(
                atPath: url.appending(path: "play.ogg").path, withDestinationPath: "/nowhere/at all")
            #expect(RecordingFolder.claim(["play"], "ogg", in: url).lastPathComponent == "play-2.ogg")
            // What was taken away in between is passed over or taken again, and nothing is written over.
            try FileManager.default.removeItem(at: url.appending(path: "film-50.ogg"))
            #expect(!FileManager.default.fileExists(atPath: url.appending(path: next()).path))
        }
    }
}
