import Dispatch
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

/// What becomes of recordings, and of what is said of them, when threads and disks are slow or files go away.
@Suite(.timeLimit(.minutes(1))) struct RecordingLossTests {
    private struct Index: Decodable {
        struct Recording: Decodable {
            let file: String
            let duration: Double
            let complete: Bool
        }
        let recordings: [Recording]
    }

    private static func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "roost-loss-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private static func index(_ folder: URL, _ name: String = "index") throws -> [Index.Recording] {
        let file = folder.appending(path: name + ".json")
        return try JSONDecoder().decode(Index.self, from: Data(contentsOf: file)).recordings
    }

    private static func track() throws -> RemoteTrack {
        var info = LiveKitTrackInfo()
        info.sid = "TR_1"
        info.type = .audio
        info.mimeType = "audio/opus"
        var person = LiveKitParticipantInfo()
        person.identity = "ann"
        return RemoteTrack(
            publication: try #require(RemoteTrackPublication(info)), participant: RemoteParticipant(person),
            receiver: RTPReceiver(kind: .audio), askForKeyFrame: {})
    }

    /// So many packets of 20 ms, all of which wait for their reader; each tells when it was received.
    private static func packets(_ count: Int) -> AsyncStream<EncodedFrame> {
        let (frames, more) = AsyncStream.makeStream(of: EncodedFrame.self)
        for number in 0..<count {
            var frame = EncodedFrame(
                payload: [0x78, 1], timestamp: UInt32(number) * 960, isKeyFrame: true, format: .opus)
            frame.receivedAt = Instant(nanoseconds: Int64(number) * 20_000_000 + 1_000_000_000)
            more.yield(frame)
        }
        more.finish()
        return frames
    }

    @Test func `what waits for a thread that is late is recorded at the time at which it came`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(url.path, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let (file, failure) = await folder.record(try Self.track(), Self.packets(600))
            #expect(failure == nil)
            #expect(try #require(file).duration == 12_000_000_000)
            let recordings = try Self.index(url)
            #expect(recordings.map(\.complete) == [true] && recordings.map(\.duration) == [12])
        }
    }

    /// A track of which so many packets were received; they wait for their reader, who is held up once it has a file.
    private struct Late {
        let broadcast = FrameBroadcast()
        let listening: (frames: AsyncStream<EncodedFrame>, end: FrameStreamEnd, missed: MissedFrames)
        private let held: AsyncStream<Void>
        private let hold: AsyncStream<Void>.Continuation
        private let goes: AsyncStream<Void>
        private let go: AsyncStream<Void>.Continuation

        init(_ count: Int) {
            (held, hold) = AsyncStream.makeStream()
            (goes, go) = AsyncStream.makeStream()
            listening = broadcast.listen()
            for number in 0..<count {
                let frame = EncodedFrame(
                    payload: [0x78, 1], timestamp: UInt32(number) * 960, isKeyFrame: true, format: .opus)
                _ = broadcast.send(frame, at: Instant(nanoseconds: Int64(number) * 20_000_000 + 1_000_000_000))
            }
        }

        func record(into folder: RecordingFolder) async throws -> RecordingFailure? {
            await folder.record(
                try RecordingLossTests.track(), listening.frames, end: listening.end, missed: listening.missed,
                began: { _ in
                    hold.yield()
                    for await _ in goes { break }
                }
            ).failure
        }

        func waitForFile() async { for await _ in held { break } }

        func goOn() { go.yield() }
    }

    @Test func `what waits for the disk when the recording is ended is in the file`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(url.path, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let late = Late(600)
            async let failure = late.record(into: folder)
            await late.waitForFile()
            async let index = folder.finish(within: .seconds(3_600))
            try await until("the recording is ended") { await folder.isFinished }
            late.goOn()
            let problem = try await failure
            _ = await index
            #expect(problem == nil)
            #expect(await folder.loss == nil)
            let recordings = try Self.index(url)
            #expect(recordings.map(\.complete) == [true] && recordings.map(\.duration) == [12])
            // That was all of it.
            #expect(await folder.record(try Self.track(), Self.packets(10)).file == nil)
        }
    }

    @Test func `what cannot be written in some time after the recording's end is missing, and is told`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(url.path, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let late = Late(600)
            async let failure = late.record(into: folder)
            await late.waitForFile()
            async let index = folder.finish(within: .milliseconds(1))
            try await until("what waits is given up") { late.listening.missed.count > 0 }
            late.goOn()
            let problem = try await failure
            _ = await index
            #expect(problem == .fellBehind(frames: 599))
            let recordings = try Self.index(url)
            #expect(recordings.map(\.complete) == [false] && recordings.map(\.duration) == [0.02])
            #expect(await folder.loss != nil)
        }
    }

    @Test func `what came before there was a file is missing too when it cannot be written`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(url.path, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let missed = MissedFrames()
            missed.add(7)
            // Nothing is left of the stream when it is looked at, as behind `FrameStreamEnd.atOnce`.
            let (frames, waiting) = AsyncStream.makeStream(of: EncodedFrame.self)
            async let result = folder.record(try Self.track(), frames, missed: missed)
            await Task.yield()
            async let index = folder.finish()
            try await until("the recording is ended") { await folder.isFinished }
            waiting.finish()
            let failure = try await result.failure
            _ = await index
            #expect(failure == .fellBehind(frames: 7))
            #expect(await folder.loss != nil)
        }
    }

    @Test func `a file of which the recorder was too slow to take all is not complete, and says why`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(url.path, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let missed = MissedFrames()
            missed.add(7)
            let (file, failure) = await folder.record(try Self.track(), Self.packets(10), missed: missed)
            let name = try #require(file).path
            #expect(failure == .fellBehind(frames: 7))
            #expect(failure?.description == "The disk or the machine was too slow: 7 frames are missing.")
            #expect(try Self.index(url).map(\.complete) == [false])
            #expect(await folder.loss == .file(name, .fellBehind(frames: 7)))
            // Of the next one nothing is.
            #expect(await folder.record(try Self.track(), Self.packets(10), missed: missed).failure == nil)
        }
    }

    @Test func `a disk that is slow with one file holds up nobody who records by the same thread`() async throws {
        try await Self.inFolder { url in
            let loop = NetworkLoop(name: "test")
            let isOver = DispatchSemaphore(value: 0)
            let (syncs, began) = AsyncStream.makeStream(of: Void.self)
            let slow = RecordingFolder(
                url.path, index: "slow", loop: loop, notice: { _ in },
                sync: { file in
                    began.yield()
                    isOver.wait()
                    return file.sync()
                })
            let other = RecordingFolder(url.path, index: "other", loop: loop, notice: { _ in })
            try await slow.begin(room: "kitchen")
            try await other.begin(room: "hall")
            let track = try Self.track()
            async let first = slow.record(track, Self.packets(10))
            for await _ in syncs { break }
            let (file, failure) = await other.record(track, Self.packets(10))
            #expect(file != nil && failure == nil)
            // It is not told as whole before the disk has it.
            #expect(try Self.index(url, "slow").map(\.complete) == [false])
            async let index = slow.finish()
            isOver.signal()
            let (_, end) = await first
            #expect(end == nil)
            _ = await index
            #expect(try Self.index(url, "slow").map(\.complete) == [true])
        }
    }

    /// One that is taken away, and one in whose place another one is put.
    @Test(arguments: [false, true])
    func `a file that goes while it is recorded is not complete, and no other one has its name`(isReplaced: Bool)
        async throws
    {
        try await Self.inFolder { url in
            let folder = RecordingFolder(url.path, loop: NetworkLoop(name: "test"), notice: { _ in })
            try await folder.begin(room: "kitchen")
            let (gone, failure) = await folder.record(
                try Self.track(), Self.packets(10),
                began: { name in
                    try? FileManager.default.removeItem(at: url.appending(path: name))
                    // The recorder writes on, but not to this one.
                    if isReplaced { try? Data([1]).write(to: url.appending(path: name)) }
                })
            #expect(failure == .unwritable)
            // Of what was written, which is more than what is there now.
            #expect(try #require(gone).size > 1 && gone?.isComplete == false)
            if isReplaced { try FileManager.default.removeItem(at: url.appending(path: "ann-unknown-TR_1.ogg")) }
            let (file, other) = await folder.record(try Self.track(), Self.packets(10))
            #expect(file?.path == "ann-unknown-TR_1-2.ogg" && other == nil)
            let recordings = try Self.index(url)
            #expect(recordings.map(\.file) == ["ann-unknown-TR_1.ogg", "ann-unknown-TR_1-2.ogg"])
            #expect(recordings.map(\.complete) == [false, true])
        }
    }

    private static func folder(_ url: URL, indexPatience: Duration, _ told: Told) -> RecordingFolder {
        RecordingFolder(
            url.path, indexPatience: indexPatience, loop: NetworkLoop(name: "test"), notice: { _ in told.tell() })
    }

    /// How often something was told.
    private final class Told: Sendable {
        private let times = Mutex(0)
        var count: Int { times.withLock { $0 } }
        func tell() { times.withLock { $0 += 1 } }
    }

    @Test func `an index for which there is no room is written once there is, and nobody waits for it`() async throws {
        try await Self.inFolder { url in
            let told = Told()
            let folder = Self.folder(url, indexPatience: .milliseconds(5), told)
            try fillDisk(in: url)
            try await folder.begin(room: "kitchen")
            #expect(await folder.record(try Self.track(), Self.packets(10)).failure == nil)
            let path = url.appending(path: "index.json").path
            #expect(await folder.loss == .index(path))
            // When the file began and ended, and at the beginning; tries are not told.
            try await until("the index is tried again, twice") { await folder.indexWrites >= 5 }
            #expect(told.count == 3)
            try makeRoom(in: url)
            try await until("the index is written") { await folder.loss == nil }
            #expect(try Self.index(url).map(\.complete) == [true])
            // That was all.
            let writes = await folder.indexWrites
            try await Task.sleep(for: .milliseconds(50))
            #expect(await folder.indexWrites == writes)
        }
    }

    @Test(arguments: [false, true])
    func `an index for which there was no room is written at the end at the latest`(isFinished: Bool) async throws {
        try await Self.inFolder { url in
            let folder = Self.folder(url, indexPatience: .seconds(3_600), Told())
            try fillDisk(in: url)
            try await folder.begin(room: "kitchen")
            #expect(await folder.record(try Self.track(), Self.packets(10)).failure == nil)
            #expect(await !folder.writeOwedIndex())
            try makeRoom(in: url)
            if isFinished { await folder.finish() } else { #expect(await folder.writeOwedIndex()) }
            #expect(await folder.loss == nil)
            #expect(try Self.index(url).map(\.complete) == [true])
        }
    }

    @Test func `an index that is yet to be written is not whole`() async throws {
        try await Self.inFolder { url in
            let folder = Self.folder(url, indexPatience: .seconds(3_600), Told())
            // From here on it is written once a second.
            for _ in 0..<20 { try await folder.begin(room: "kitchen") }
            try fillDisk(in: url)
            #expect(await !folder.writeOwedIndex())
            try makeRoom(in: url)
            #expect(await folder.writeOwedIndex())
        }
    }

    @Test func `what the disk does not take at the end is told`() async throws {
        try await Self.inFolder { url in
            let folder = RecordingFolder(
                url.path, loop: NetworkLoop(name: "test"), notice: { _ in },
                sync: { _ in .unwritable(file: "here") })
            try await folder.begin(room: "kitchen")
            #expect(await folder.record(try Self.track(), Self.packets(10)).failure == .unwritable)
            #expect(try Self.index(url).map(\.complete) == [false])
        }
    }
}
