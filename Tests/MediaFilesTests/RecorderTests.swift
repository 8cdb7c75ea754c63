import Foundation
import MediaFiles
import RTCEngine
import RTCWire
import Testing

@Suite struct `Recording` {
    @Test func `H264 and Opus make an MP4 that reads back the same`() throws {
        let video = try TestMedia.track("webRtcTestVideo.mp4")
        let audio = try TestMedia.track("webRtcTestVideo.ogg")
        let (bytes, recorder) = try record(video: video, audio: audio)
        #expect(recorder.container == .mp4)
        #expect(recorder.recordedFrames == 801)
        let file = try MediaFile(reading: bytes, name: "call.mp4")
        #expect(file.video?.frames == video.frames)
        #expect(file.audio?.frames == audio.frames)
    }

    @Test func `VP8 makes an IVF that reads back the same`() throws {
        let video = try TestMedia.track("webRtcTestVideo.ivf")
        let (bytes, _) = try record(video: video, audio: nil, container: .ivf)
        let file = try MediaFile(reading: bytes, name: "call.ivf")
        #expect(file.video?.frames.map(\.payload) == video.frames.map(\.payload))
        #expect(file.video?.frames.map(\.decodeTime) == video.frames.map(\.decodeTime))
    }

    @Test func `sound makes an Ogg that reads back the same`() throws {
        let audio = try TestMedia.track("webRtcTestVideo.ogg")
        let (bytes, recorder) = try record(video: nil, audio: audio)
        #expect(recorder.container == .ogg)
        #expect(try MediaFile(reading: bytes, name: "call.ogg").audio?.frames == audio.frames)
    }

    /// A microphone that is muted for the better part of a meeting among them.
    @Test(arguments: [1, 700, 3_700])
    func `a hole in the sound is filled with silence`(seconds: Int) throws {
        var audio = try TestMedia.track("webRtcTestVideo.ogg")
        // Packets 100 to 149 were lost: one second.
        audio.frames.removeSubrange(100..<150)
        for place in 100..<audio.frames.count { audio.frames[place].decodeTime += Int64(seconds - 1) * 48_000 }
        var recorder = try Recorder(video: nil, audio: .opus)
        var file = MemoryFile()
        for frame in audio.frames {
            recorder.receive(
                EncodedFrame(
                    payload: frame.payload, timestamp: UInt32(frame.decodeTime), isKeyFrame: true, format: .opus),
                at: .zero + .milliseconds(frame.decodeTime / 48))
        }
        recorder.finish()
        file.apply(&recorder)
        let read = try #require(try MediaFile(reading: file.bytes, name: "call.ogg").audio)
        #expect(read.frames.count == 451 + seconds * 50)
        #expect(read.frames[100..<100 + seconds * 50].allSatisfy { $0.payload == OpusPacket.silence })
        #expect(read.frames[100 + seconds * 50].payload == audio.frames[100].payload)
    }

    @Test func `frames before the first key frame, and of another codec, are left out`() throws {
        let video = try TestMedia.track("webRtcTestVideo.mp4")
        var recorder = try Recorder(video: .h264, audio: nil)
        var file = MemoryFile()
        for frame in video.frames[20..<40] {
            recorder.receive(
                EncodedFrame(
                    payload: frame.payload, timestamp: UInt32(frame.decodeTime), isKeyFrame: frame.isKeyFrame,
                    format: .h264), at: .zero + .milliseconds(frame.decodeTime / 90))
        }
        recorder.receive(EncodedFrame(payload: [1], timestamp: 0, isKeyFrame: true, format: .vp8), at: .zero)
        recorder.finish()
        file.apply(&recorder)
        #expect(recorder.ignoredFrames == 11)
        let read = try #require(try MediaFile(reading: file.bytes, name: "call.mp4").video)
        #expect(read.frames.map(\.payload) == video.frames[30..<40].map(\.payload))
    }

    @Test func `sound that comes before the picture keeps its lead`() throws {
        let video = try TestMedia.track("webRtcTestVideo.mp4")
        let audio = try TestMedia.track("webRtcTestVideo.ogg")
        let (bytes, _) = try record(video: video, audio: audio, audioDelay: .milliseconds(500))
        try #require(TestMedia.hasFFmpeg)
        let starts = try TestMedia.probe("stream=start_time", bytes, "mp4").compactMap(Double.init)
        try #require(starts.count == 2)
        #expect(abs(starts[0]) < 0.001)
        #expect(abs(starts[1] - 0.5) < 0.01)
    }

    @Test(arguments: [-500, 0, 500])
    func `what comes first of picture and sound does so when the file is read`(delay: Int64) throws {
        let (bytes, _) = try record(
            video: try TestMedia.track("webRtcTestVideo.mp4"), audio: try TestMedia.track("webRtcTestVideo.ogg"),
            audioDelay: .milliseconds(delay))
        let file = try MediaFile(reading: bytes, name: "call.mp4")
        #expect(file.video?.frames.first?.decodeTime == max(0, -delay) * 90)
        #expect(file.audio?.frames.first?.decodeTime == max(0, delay) * 48)
    }

    /// One key frame or packet of 20 ms over and over, at times in milliseconds.
    private static func track(_ format: PayloadFormat, _ payload: [UInt8], _ times: [Int64]) -> MediaTrack {
        let rate = Int64(format.clockRate) / 1_000
        let frames = times.indices.map { index in
            let next = index + 1 < times.count ? times[index + 1] : times[index] + 20
            return MediaTrack.Frame(
                payload: payload, decodeTime: times[index] * rate, duration: (next - times[index]) * rate,
                isKeyFrame: true)
        }
        return MediaTrack(format: format, frames: frames)
    }

    private static let steady = Array(stride(from: Int64(0), to: 20_000, by: 20))
    /// Pictures that stand still for long, sound that stops, and both in turn.
    private static let patterns: [(pictures: [Int64], sound: [Int64])] = [
        ([0], steady), ([0, 1_500, 3_000, 4_500, 6_000, 15_000], steady),
        ([0, 40, 80, 5_000, 5_040, 12_000, 12_980, 13_960], steady), ([0, 500, 1_600, 1_700, 2_800], steady),
        (steady, [0, 20, 40, 8_000, 8_020, 19_000]),
        (steady.filter { $0 % 4_000 < 700 }, steady.filter { $0 == 0 || $0 % 4_000 > 2_900 }),
    ]

    @Test(arguments: 0..<6)
    func `times in a WebM never go back, whatever stands still, and all of them are right`(index: Int) throws {
        let (pictures, sound) = Self.patterns[index]
        let key = try TestMedia.track("webRtcTestVideo.ivf").frames[0].payload
        let (bytes, _) = try record(
            video: Self.track(.vp8, key, pictures), audio: Self.track(.opus, [0xf8, 1, 2], sound))
        let file = TestWebM(bytes)
        let starts = file.clusters.map(\.time)
        #expect(starts == starts.sorted())
        for cluster in file.clusters {
            let times = cluster.blocks.map(\.time)
            #expect(times == times.sorted() && times.first == cluster.time)
        }
        #expect(file.times(ofTrack: 1) == pictures.map { Int($0) })
        #expect(file.times(ofTrack: 2) == sound.map { Int($0) })
    }

    @Test(arguments: 0..<6)
    func `what stands still in an MP4 is at its time as well`(index: Int) throws {
        let (pictures, sound) = Self.patterns[index]
        let key = try TestMedia.track("webRtcTestVideo.mp4").frames[0].payload
        let (bytes, _) = try record(
            video: Self.track(.h264, key, pictures), audio: Self.track(.opus, [0xf8, 1, 2], sound))
        let file = try MediaFile(reading: bytes, name: "call.mp4")
        #expect(file.video?.frames.map(\.decodeTime) == pictures.map { $0 * 90 })
        #expect(file.audio?.frames.map(\.decodeTime) == sound.map { $0 * 48 })
    }

    /// Six seconds of sound, and of pictures those of the second and the third second all at once at its end.
    private static func recordBurst(_ format: PayloadFormat, _ key: [UInt8]) throws -> [UInt8] {
        var deliveries: [(at: Int64, frame: EncodedFrame)] = []
        for time in stride(from: UInt32(0), to: 6_000, by: 20) {
            let packet = EncodedFrame(payload: [0xf8, 1, 2], timestamp: time * 48, isKeyFrame: true, format: .opus)
            deliveries.append((Int64(time), packet))
        }
        for time in stride(from: UInt32(0), to: 6_000, by: 40) {
            let frame = EncodedFrame(payload: key, timestamp: time * 90, isKeyFrame: true, format: format)
            deliveries.append(((1_000..<3_000).contains(time) ? 3_000 : Int64(time), frame))
        }
        var recorder = try Recorder(video: format, audio: .opus)
        var file = MemoryFile()
        for (_, delivery) in deliveries.enumerated().sorted(by: {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }) {
            recorder.receive(delivery.frame, at: .zero + .milliseconds(delivery.at))
        }
        recorder.finish()
        file.apply(&recorder)
        return file.bytes
    }

    private static let everyPicture = Array(stride(from: 0, to: 6_000, by: 40))

    @Test func `pictures that come late take no cluster of a WebM back, and are at their times`() throws {
        let bytes = try Self.recordBurst(.vp8, try TestMedia.track("webRtcTestVideo.ivf").frames[0].payload)
        let file = TestWebM(bytes)
        let starts = file.clusters.map(\.time)
        #expect(starts == starts.sorted())
        #expect(file.times(ofTrack: 1) == Self.everyPicture)
        #expect(file.times(ofTrack: 2) == Array(stride(from: 0, to: 6_000, by: 20)))
        try #require(TestMedia.hasFFmpeg)
        let rows = try TestMedia.probe("packet=codec_type,pts_time", bytes, "webm")
        let times = rows.filter { $0.hasPrefix("video") }.compactMap { Double($0.dropFirst(6)) }
        #expect(times.count == Self.everyPicture.count)
        for (time, expected) in zip(times, Self.everyPicture) { #expect(abs(time - Double(expected) / 1_000) < 0.008) }
    }

    @Test func `samples that come late are none that an MP4 has two of at one time`() throws {
        let bytes = try Self.recordBurst(.h264, try TestMedia.track("webRtcTestVideo.mp4").frames[0].payload)
        let runs = TestFragments(bytes).runs
        for track in [1, 2] {
            let own = runs.filter { $0.track == track }
            #expect(own.count > 2 && zip(own, own.dropFirst()).allSatisfy { $0.end <= $1.start })
        }
        let pictures = try #require(try MediaFile(reading: bytes, name: "call.mp4").video)
        let times = pictures.frames.map { Int($0.decodeTime) }
        let expected = Self.everyPicture.map { $0 * 90 }
        #expect(times.count == expected.count)
        for (time, expected) in zip(times, expected) {
            // The picture of 960 ms was told to stand for a second.
            if (90_000..<180_000).contains(expected) {
                #expect(time >= expected && time <= 180_000)
            } else {
                #expect(time == expected)
            }
        }
    }

    @Test func `a new time line of the sender is placed by arrival`() throws {
        let packet: [UInt8] = [0xf8, 1, 2]
        var recorder = try Recorder(video: nil, audio: .opus)
        var file = MemoryFile()
        for index in 0..<50 {
            // After half a second the timestamps jump far away.
            let timestamp = UInt32(index) * 960 &+ (index < 25 ? 0 : 0x7000_0000)
            recorder.receive(
                EncodedFrame(payload: packet, timestamp: timestamp, isKeyFrame: true, format: .opus),
                at: .zero + .milliseconds(20) * Int64(index))
        }
        recorder.finish()
        file.apply(&recorder)
        let read = try #require(try MediaFile(reading: file.bytes, name: "call.ogg").audio)
        #expect(read.frames.map(\.decodeTime) == (0..<50).map { $0 * 960 })
    }

    /// Twenty seconds, of which eight come at once at their end, behind a hole that is filled with silence.
    @Test func `sound that comes late in one piece makes nothing behind it late by more than a second`() throws {
        var recorder = try Recorder(video: nil, audio: .opus)
        var file = MemoryFile()
        for index in 0..<1_000 {
            let time = Int64(index) * 20
            recorder.receive(
                EncodedFrame(
                    payload: [0xf8, UInt8(index >> 8), UInt8(index & 255)], timestamp: UInt32(index) * 960,
                    isKeyFrame: true, format: .opus),
                at: .zero + .milliseconds((4_000..<12_000).contains(time) ? 12_000 : time))
        }
        recorder.finish()
        file.apply(&recorder)
        let read = try #require(try MediaFile(reading: file.bytes, name: "call.ogg").audio)
        for index in [950, 999] {
            let payload: [UInt8] = [0xf8, UInt8(index >> 8), UInt8(index & 255)]
            let frame = try #require(read.frames.first { $0.payload == payload })
            #expect(abs(frame.decodeTime - Int64(index) * 960) <= 48_000)
        }
    }

    @Test func `a full disk is told at once, and again`() throws {
        let audio = try TestMedia.track("webRtcTestVideo.ogg")
        let file = try RecordingFile(path: "/dev/full", video: nil, audio: .opus)
        let frame = EncodedFrame(
            payload: audio.frames[0].payload, timestamp: 0, isKeyFrame: true, format: .opus)
        #expect(throws: MediaFileError.diskFull(file: "/dev/full")) { try file.receive(frame, at: .zero) }
        #expect(throws: MediaFileError.diskFull(file: "/dev/full")) { try file.receive(frame, at: .zero) }
        #expect(throws: MediaFileError.diskFull(file: "/dev/full")) { try file.finish() }
    }

    @Test func `the sound is kept when no picture ever comes`() throws {
        let audio = try TestMedia.track("webRtcTestVideo.ogg")
        for video: PayloadFormat in [.h264, .vp8] {
            var recorder = try Recorder(video: video, audio: .opus)
            var file = MemoryFile()
            for frame in audio.frames {
                recorder.receive(
                    EncodedFrame(
                        payload: frame.payload, timestamp: UInt32(frame.decodeTime), isKeyFrame: true, format: .opus),
                    at: .zero + .milliseconds(frame.decodeTime / 48))
            }
            recorder.finish()
            file.apply(&recorder)
            guard video == .h264 else { continue }
            #expect(try MediaFile(reading: file.bytes, name: "call.mp4").audio?.frames == audio.frames)
        }
    }

    @Test func `tracks that no container holds are refused`() {
        #expect(throws: MediaFileError.unsupportedTracks) { try Recorder(video: nil, audio: nil) }
        #expect(throws: MediaFileError.unsupportedTracks) { try Recorder(video: .opus, audio: nil) }
        #expect(throws: MediaFileError.unsupportedTracks) { try Recorder(video: .vp8, audio: .opus, container: .mp4) }
    }

    @Test func `a file on disk fills as the call goes on`() throws {
        let video = try TestMedia.track("webRtcTestVideo.ivf")
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("roost-recording-test-\(UUID().uuidString).webm").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try RecordingFile(path: path, video: .vp8, audio: nil)
        var source = MediaSource(track: video, ending: .stop)
        while let due = source.nextDue, let frame = source.next() { try file.receive(frame, at: .zero + due) }
        try file.finish()
        #expect(file.recorder.container == .webm)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        #expect(bytes == (try record(video: video, audio: nil).bytes))
        #expect(throws: MediaFileError.unwritable(file: "/nowhere/call.mp4")) {
            try RecordingFile(path: "/nowhere/call.mp4", video: .h264, audio: nil)
        }
    }
}

@Suite(.enabled(if: TestMedia.hasFFmpeg)) struct `Recordings as others read them` {
    private static let combinations: [(video: String?, audio: String?, container: MediaContainer?)] = [
        ("webRtcTestVideo.mp4", "webRtcTestVideo.ogg", nil), ("webRtcTestVideo.mp4", nil, nil),
        ("webRtcTestVideo.ivf", "webRtcTestVideo.ogg", nil), ("webRtcTestVideo.ivf", nil, nil),
        ("webRtcTestVideo.ivf", nil, .ivf), (nil, "webRtcTestVideo.ogg", nil), (nil, "webRtcTestVideo.ogg", .mp4),
        (nil, "webRtcTestVideo.ogg", .webm),
    ]

    @Test(arguments: 0..<8)
    func `ffprobe finds every packet at its time`(index: Int) throws {
        let (videoName, audioName, container) = Self.combinations[index]
        let video = try videoName.map(TestMedia.track)
        let audio = try audioName.map(TestMedia.track)
        let (bytes, recorder) = try record(video: video, audio: audio, container: container)
        let rows = try TestMedia.probe("packet=codec_type,pts_time", bytes, recorder.container.fileExtension)
        for (kind, track) in [("video", video), ("audio", audio)] {
            let times = rows.filter { $0.hasPrefix(kind) }.compactMap { Double($0.dropFirst(6)) }
            let expected = track?.frames.map { Double($0.decodeTime) / Double(track?.format.clockRate ?? 1) } ?? []
            #expect(times.count == expected.count, "\(kind)")
            // WebM counts in milliseconds; Ogg and WebM take the pre-skip off.
            for (time, expected) in zip(times, expected) { #expect(abs(time - expected) < 0.008) }
        }
    }

    @Test(arguments: ["webRtcTestVideo.mp4", "webRtcTestVideo.ivf"])
    func `a recorder that is killed leaves a file that plays up to its last second`(name: String) throws {
        let video = try TestMedia.track(name)
        let audio = try TestMedia.track("webRtcTestVideo.ogg")
        let (bytes, recorder) = try record(video: video, audio: audio, isFinished: false)
        // And in the middle of a write.
        let cut = Array(bytes.dropLast(5_000))
        let rows = try TestMedia.probe("packet=codec_type", cut, recorder.container.fileExtension)
        #expect(rows.filter { $0 == "video" }.count > 230)
        #expect(rows.filter { $0 == "audio" }.count > 380)
    }

    @Test(arguments: ["webRtcTestVideo.mp4", "webRtcTestVideo.ivf"])
    func `the counter of every frame survives recording, decoding and halving`(name: String) throws {
        let video = try TestMedia.track(name)
        let audio = try TestMedia.track("webRtcTestVideo.ogg")
        let (bytes, recorder) = try record(video: video, audio: audio)
        let gray = try TestMedia.run(
            "ffmpeg",
            [
                "-v", "error", "-i", "INPUT", "-map", "0:v", "-vf", "scale=320:180", "-fps_mode", "passthrough", "-f",
                "rawvideo", "-pix_fmt", "gray", "-",
            ], input: bytes, fileExtension: recorder.container.fileExtension)
        try #require(gray.count == 300 * 320 * 180)
        let numbers = (0..<300).map { frame in
            FrameCounter.read(
                luma: gray.span.bytes.extracting(frame * 57_600..<(frame + 1) * 57_600), width: 320, height: 180,
                stride: 320)
        }
        #expect(numbers == Array(0..<300))
    }
}
