import MediaFiles
import RTCEngine
import RTCWire
import Testing

/// VP9, AV1, H.265 and G.711: from a file through packets into a file.
@Suite struct `Files of VP9, AV1, H265 and G711` {
    /// The track as a receiver has it: cut into packets and joined.
    private func overRTP(_ track: MediaTrack) -> MediaTrack? {
        var packetizer = Packetizer(format: track.format)
        var depacketizer = Depacketizer(format: track.format)
        var result = track
        for index in track.frames.indices {
            var list = PayloadList()
            let payload = track.frames[index].payload
            packetizer.packetize(payload.span.bytes, into: &list)
            var joined: [UInt8] = []
            var isKeyFrame = false
            for place in 0..<list.count {
                if depacketizer.startsKeyFrame(list[place]) { isKeyFrame = true }
                guard depacketizer.append(list[place], to: &joined) else { return nil }
            }
            guard depacketizer.isAtUnitBoundary, isKeyFrame == track.frames[index].isKeyFrame else { return nil }
            result.frames[index].payload = joined
        }
        return result
    }

    @Test(
        .enabled(if: TestMedia.hasFFmpeg),
        arguments: [
            ("vp9", PayloadFormat.vp9, MediaContainer.ivf), ("av1", .av1, .ivf), ("h265", .h265, .mp4),
        ])
    func `pictures that went through packets make a file that ffmpeg decodes`(
        codec: String, format: PayloadFormat, container: MediaContainer
    ) throws {
        let name = "webRtcTestVideo-\(codec).\(container.fileExtension)"
        let track = try TestMedia.track(name)
        #expect(track.format == format)
        #expect(track.width == 320)
        #expect(track.height == 180)
        #expect(track.frames.count == 90)
        #expect(track.frames.indices.filter { track.frames[$0].isKeyFrame } == [0, 30, 60])
        let received = try #require(overRTP(track))
        let (bytes, recorder) = try record(video: received, audio: nil)
        #expect(recorder.container == container)
        let decoded = try TestMedia.run(
            "ffmpeg", ["-v", "error", "-i", "INPUT", "-f", "framemd5", "-"], input: bytes,
            fileExtension: container.fileExtension)
        let original = try TestMedia.run(
            "ffmpeg", ["-v", "error", "-i", "INPUT", "-f", "framemd5", "-"],
            input: try TestMedia.bytes(name), fileExtension: container.fileExtension)
        func hashes(_ text: [UInt8]) -> [Substring] {
            String(decoding: text, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
                .compactMap { $0.split(separator: ",").last }
        }
        #expect(hashes(decoded).count == 90)
        #expect(hashes(decoded) == hashes(original))
        let again = try MediaFile(reading: bytes, name: "call.\(container.fileExtension)")
        #expect(again.video?.frames.map(\.decodeTime) == track.frames.map(\.decodeTime))
        #expect(again.video?.frames.map(\.isKeyFrame) == track.frames.map(\.isKeyFrame))
    }

    @Test(.enabled(if: TestMedia.hasFFmpeg))
    func `an MP4 of H265 has its parameter sets in its header, until they change`() throws {
        let small = try TestMedia.track("webRtcTestVideo-h265.mp4")
        let (bytes, _) = try record(video: small, audio: nil)
        #expect(try TestMedia.probe("stream=codec_tag_string,width,height", bytes, "mp4") == ["hvc1,320,180"])

        let encoded = try TestMedia.run(
            "ffmpeg",
            [
                "-v", "error", "-i", "INPUT", "-vf", "scale=640:360", "-c:v", "libx265", "-profile:v", "main",
                "-x265-params", "bframes=0:keyint=30:scenecut=0:open-gop=0:log-level=error", "-threads", "1",
                "-movflags", "frag_keyframe+empty_moov", "-f", "mp4", "-",
            ], input: try TestMedia.bytes("webRtcTestVideo-h265.mp4"), fileExtension: "mp4")
        let large = try #require(try MediaFile(reading: encoded, name: "film.mp4").video)
        #expect(large.format == .h265 && large.width == 640)
        var recorder = try Recorder(video: .h265, audio: nil)
        var file = MemoryFile()
        for (place, frame) in (small.frames + large.frames + small.frames).enumerated() {
            recorder.receive(
                EncodedFrame(
                    payload: frame.payload, timestamp: UInt32(place * 3_000), isKeyFrame: frame.isKeyFrame,
                    format: .h265),
                at: .zero + .milliseconds(Int64(place) * 1_000 / 30))
            file.apply(&recorder)
        }
        recorder.finish()
        file.apply(&recorder)
        #expect(try TestMedia.probe("stream=codec_tag_string", file.bytes, "mp4") == ["hev1"])
        // From the beginning, and for a player that begins in the larger pictures.
        #expect(try counters(file.bytes) == Array(0..<90) + Array(0..<90) + Array(0..<90))
        #expect(try counters(file.bytes, from: "4").last == 89)
        #expect(try counters(file.bytes, from: "4").allSatisfy { $0 != nil })
        let read = try #require(try MediaFile(reading: file.bytes, name: "call.mp4").video)
        let sizes = [0, 90, 180].map { index in
            EncodedFrame(
                payload: read.frames[index].payload, timestamp: 0, isKeyFrame: read.frames[index].isKeyFrame,
                format: .h265
            ).pictureSize?.width
        }
        #expect(sizes == [320, 640, 320])
    }

    @Test(.enabled(if: TestMedia.hasFFmpeg)) func `H265 of ten bits is refused with what to do`() throws {
        let encoded = try TestMedia.run(
            "ffmpeg",
            [
                "-v", "error", "-i", "INPUT", "-frames:v", "2", "-c:v", "libx265", "-pix_fmt", "yuv420p10le",
                "-x265-params", "bframes=0:log-level=error", "-movflags", "frag_keyframe+empty_moov", "-f", "mp4", "-",
            ], input: try TestMedia.bytes("webRtcTestVideo-h265.mp4"), fileExtension: "mp4")
        #expect {
            try MediaFile(reading: encoded, name: "film.mp4")
        } throws: { error in
            "\(error)".contains("H.265 profile (2)") && "\(error)".contains("ffmpeg's -profile:v main")
        }
    }

    @Test func `a VP9 picture of three layers makes an IVF of the highest one's size, which alone is shown`() throws {
        // The beginnings of what libvpx makes of 320 by 180, 640 by 360 and 1280 by 720 pixels.
        let rest = [UInt8](repeating: 7, count: 120)
        let beginnings: [[UInt8]] = [
            [
                0x83, 0x49, 0x83, 0x42, 0x00, 0x13, 0xf0, 0x0b, 0x38, 0x27, 0xf8,
                0x16, 0x78, 0x18, 0xe0, 0x90, 0x70, 0x61, 0x28, 0x00, 0x0b, 0x80,
            ],
            [
                0x87, 0x02, 0x02, 0x00, 0x04, 0xfe, 0x02, 0xcf, 0x04, 0xff, 0x02,
                0xcf, 0x90, 0x51, 0xc1, 0x20, 0xe0, 0xc0, 0x80, 0x00, 0x1b, 0x40,
            ],
            [
                0x87, 0x04, 0x24, 0x00, 0x09, 0xfe, 0x05, 0x9e, 0x90,
                0x51, 0xc1, 0x20, 0xe0, 0xc0, 0x80, 0x00, 0x1d, 0x40,
            ],
        ]
        let layers = beginnings.map { $0 + rest }
        let sizes = layers.map(\.count)
        var picture = layers.flatMap { $0 }
        VP9Superframe(sizes: sizes).appendIndex(to: &picture)
        let frame = EncodedFrame(payload: picture, timestamp: 0, isKeyFrame: true, format: .vp9)
        let size = try #require(frame.pictureSize)
        #expect(size.width == 1_280 && size.height == 720)
        let (bytes, _) = try record(
            video: MediaTrack(
                format: .vp9, frames: [.init(payload: picture, decodeTime: 0, duration: 3_000, isKeyFrame: true)]),
            audio: nil)
        let film = try #require(try MediaFile(reading: bytes, name: "call.ivf").video)
        #expect(film.width == 1_280 && film.height == 720)
        let written = try #require(film.frames.first).payload
        let index = VP9Superframe(written.span.bytes)
        let frames = try #require(index)
        #expect(frames.sizes == sizes)
        var offset = 0
        let shown = frames.sizes.map { size in
            defer { offset += size }
            return VP9FrameHeader(written.span.bytes.extracting(offset..<offset + size))?.isShown
        }
        #expect(shown == [false, false, true])
    }

    @Test func `G711 makes the WAV that it was read from`() throws {
        let track = try TestMedia.track("webRtcTestVideo-pcmu.wav")
        #expect(track.format == .pcmu)
        #expect(track.frames.count == 150)
        #expect(track.duration == .seconds(Int64(3)))
        let (bytes, recorder) = try record(video: nil, audio: track)
        #expect(recorder.container == .wav)
        #expect(bytes == (try TestMedia.bytes("webRtcTestVideo-pcmu.wav")))
    }

    @Test func `a hole in a WAV is filled with silence`() throws {
        var track = try TestMedia.track("webRtcTestVideo-pcmu.wav")
        track.format = .pcma
        track.frames.removeSubrange(50..<60)
        track.frames[49].duration += 10 * 160
        let (bytes, _) = try record(video: nil, audio: track)
        let again = try #require(try MediaFile(reading: bytes, name: "call.wav").audio)
        #expect(again.format == .pcma)
        #expect(again.frames.count == 150)
        #expect(again.frames[55].payload == [UInt8](repeating: 0xd5, count: 160))
        #expect(again.frames[60].payload == track.frames[50].payload)
    }

    @Test func `WAVs that cannot be sent are refused with their reason`() throws {
        let whole = try TestMedia.bytes("webRtcTestVideo-pcmu.wav")
        func changed(_ offset: Int, _ value: UInt8) -> [UInt8] {
            var bytes = whole
            bytes[offset] = value
            return bytes
        }
        for bytes in [changed(20, 1), changed(22, 2), changed(24, 0x80)] {
            #expect(throws: MediaFileError.noUsableTrack(.wav)) { try MediaFile(reading: bytes, name: "a.wav") }
        }
        for count in [12, 40, 58] {
            #expect(throws: MediaFileError.self) { try MediaFile(reading: Array(whole.prefix(count)), name: "a.wav") }
        }
        #expect(try MediaFile(reading: Array(whole.prefix(58 + 400)), name: "a.wav").audio?.frames.count == 3)
    }

    @Test func `an IVF of another codec is refused`() throws {
        var bytes = try TestMedia.bytes("webRtcTestVideo-vp9.ivf")
        bytes[8] = 0x58
        #expect(throws: MediaFileError.noUsableTrack(.ivf)) { try MediaFile(reading: bytes, name: "a.ivf") }
    }
}
