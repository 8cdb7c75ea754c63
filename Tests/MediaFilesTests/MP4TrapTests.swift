import MediaFiles
import RTCEngine
import RTCWire
import Testing

@Suite struct `MP4 files with traps` {
    /// The first frames of the test video, without the parameter sets of their header.
    private static func file(_ count: Int) throws -> TestMP4 {
        let frames = try TestMedia.track("webRtcTestVideo.mp4").frames
        let configuration = try #require(parameterSets(of: frames[0].payload))
        let samples = frames.prefix(count).map { frame in
            var data: [UInt8] = []
            let payload = frame.payload
            var units = AnnexBReader(payload.span.bytes)
            while let range = units.next() {
                let unit = Array(payload[range])
                guard ![.sequenceParameterSet, .pictureParameterSet].contains(H264NALType(header: unit[0])) else {
                    continue
                }
                data.append(uint32: UInt32(unit.count))
                data += unit
            }
            return TestMP4.Sample(data: data)
        }
        return TestMP4(descriptions: [configuration], samples: samples)
    }

    private func read(_ file: TestMP4) throws -> MediaTrack {
        try #require(try MediaFile(reading: file.bytes, name: "trap.mp4").video)
    }

    @Test func `sizes and offsets of 64 bits`() throws {
        var file = try Self.file(60)
        file.isWide = true
        let expected = try TestMedia.track("webRtcTestVideo.mp4").frames.prefix(60)
        let read = try read(file)
        #expect(read.frames.map(\.payload) == expected.map(\.payload))
        #expect(read.frames.map(\.decodeTime) == expected.map(\.decodeTime))
    }

    /// The matrices of ISO/IEC 14496-12 §6.2.2, as ffmpeg's `-display_rotation` and telephones write them.
    @Test(arguments: [false, true])
    func `a track that is shown turned says so with every frame`(isWide: Bool) throws {
        let one: Int32 = 0x1_0000
        let turns: [([Int32], UInt8?)] = [
            ([one, 0, 0, 0, one], nil), ([0, one, 0, -one, 0], 1), ([-one, 0, 0, 0, -one], 2),
            ([0, -one, 0, one, 0], 3), ([one / 2, one, 0, 0, one], nil), ([], nil),
        ]
        for (matrix, quarters) in turns {
            var file = try Self.file(2)
            (file.isWide, file.matrix) = (isWide, matrix)
            let track = try read(file)
            #expect(track.orientation?.quarterTurns == quarters)
            var source = MediaSource(track: track)
            #expect(source.next()?.metadata.orientation == track.orientation)
        }
    }

    /// ISO/IEC 14496-12 §8.6.6: an empty edit delays a track, and a media time moves it to the front.
    @Test(arguments: [false, true])
    func `tracks begin where their edit lists put them beside each other`(isWide: Bool) throws {
        var file = try Self.file(30)
        file.isWide = isWide
        file.sound = (0..<50).map { _ in TestMP4.Sample(data: [0xf8, 1, 2]) }
        func begin() throws -> [Int64?] {
            let media = try MediaFile(reading: file.bytes, name: "film.mp4")
            for track in media.tracks {
                let step = track.format.isVideo ? Int64(3_000) : 960
                #expect(
                    zip(track.frames, track.frames.dropFirst()).allSatisfy { $1.decodeTime - $0.decodeTime == step })
            }
            return [media.video, media.audio].map { $0?.frames.first?.decodeTime }
        }
        #expect(try begin() == [0, 0])
        file.soundEdits = [(500, -1), (1_000, 0)]
        #expect(try begin() == [0, 24_000])
        // What a player throws away of the sound comes before the picture.
        file.soundEdits = [(1_000, 312)]
        #expect(try begin() == [585, 0])
        // Both are delayed, and what is presented of the picture begins with its fourth frame, a tenth of a second on.
        file.soundEdits = [(2_000, -1), (500, -1), (1_000, 0)]
        file.edits = [(2_000, -1), (1_000, 300)]
        #expect(try begin() == [0, 28_800])
        // Offsets that an edit takes back.
        for index in file.samples.indices { file.samples[index].presentationOffset = 300 }
        #expect(try begin() == [0, 24_000])
        file.soundEdits = Array(repeating: (duration: UInt32.max, mediaTime: -1), count: 6)
        #expect(throws: MediaFileError.malformed(.mp4, detail: "a track's beginning is out of range")) {
            _ = try begin()
        }
    }

    @Test func `sound of a codec that is not read is named, and the pictures are there`() throws {
        var file = try Self.file(30)
        file.sound = [TestMP4.Sample(data: [1, 2, 3])]
        for (codec, name) in [("mp4a", "AAC"), ("ac-4", "ac-4"), ("\u{1}abc", "?abc")] {
            file.soundCodec = codec
            let media = try MediaFile(reading: file.bytes, name: "film.mp4")
            #expect(media.video?.frames.count == 30 && media.audio == nil)
            #expect(media.unusableCodecs == [name])
        }
        file.soundCodec = "Opus"
        let media = try MediaFile(reading: file.bytes, name: "film.mp4")
        #expect(media.audio != nil && media.unusableCodecs.isEmpty)
    }

    @Test func `without a table of sync samples, only pictures that stand alone are key frames`() throws {
        let read = try read(try Self.file(60))
        #expect(read.frames.indices.filter { read.frames[$0].isKeyFrame } == [0, 30])
    }

    @Test func `composition offsets that change no order are left out, negative ones too`() throws {
        for offset: Int32 in [-200, 200, .min] {
            var file = try Self.file(10)
            for index in file.samples.indices { file.samples[index].presentationOffset = offset }
            #expect(try read(file).frames.allSatisfy { $0.presentationOffset == 0 })
        }
    }

    @Test func `pictures in another order than shown are refused in a sentence`() throws {
        var file = try Self.file(10)
        for (index, offset) in [100, 300, 0, 0].enumerated() { file.samples[index].presentationOffset = Int32(offset) }
        let error = try #require(throws: MediaFileError.self) { _ = try read(file) }
        #expect(error.description.hasPrefix("The MP4 data cannot be sent in a call: its pictures are not stored in"))
    }

    @Test func `a sample's own description brings the parameter sets`() throws {
        var file = try Self.file(60)
        var other = file.descriptions[0]
        // Another picture parameter set, as a stranger's: id 1.
        other.pictureParameterSets = [[0x68, 0x50, 0x80]]
        file.descriptions.append(other)
        for index in 30..<60 { file.samples[index].description = 2 }
        let frames = try read(file).frames
        let sets = [0, 30].map { parameterSets(of: frames[$0].payload)?.pictureParameterSets }
        #expect(sets == file.descriptions.map(\.pictureParameterSets))
    }

    @Test(.timeLimit(.minutes(20)))
    func `tables that claim millions of samples cost no memory`() throws {
        var file = try Self.file(1)
        file.samples[0].data = [UInt8](repeating: 0, count: 3_000_000)
        file.claimed = (1, 3_000_000)
        #expect(throws: MediaFileError.tooManyFrames(.mp4)) { try read(file) }
        // A thousand tracks, each of the same half a million: together they claim more than the file has.
        file.samples[0].data = [UInt8](repeating: 0, count: 400_000)
        file.claimed = (1, 300_000)
        file.copies = 1_000
        #expect(throws: MediaFileError.malformed(.mp4, detail: "its sample table points outside the file")) {
            try read(file)
        }
    }

    @Test func `frames without a time of their own are refused`() throws {
        var file = try Self.file(30)
        for index in file.samples.indices { file.samples[index].duration = 0 }
        #expect(throws: MediaFileError.self) { try read(file) }
        file.timescale = .max
        for index in file.samples.indices { file.samples[index].duration = 1 }
        #expect(throws: MediaFileError.self) { try read(file) }
    }

    @Test(
        .enabled(if: TestMedia.hasFFmpeg),
        arguments: [(["-bf", "2"], "B-frames"), (["-pix_fmt", "yuv422p"], "profile (122)")])
    func `files of a real encoder that calls cannot carry are refused`(options: [String], word: String) throws {
        let bytes = try TestMedia.run(
            "ffmpeg",
            [
                "-v", "error", "-i", "INPUT", "-frames:v", "30", "-c:v", "libx264", "-movflags",
                "frag_keyframe+empty_moov",
            ]
                + options + ["-f", "mp4", "-"], input: try TestMedia.bytes("webRtcTestVideo.mp4"), fileExtension: "mp4")
        let error = try #require(throws: MediaFileError.self) { try MediaFile(reading: bytes, name: "film.mp4") }
        #expect(error.description.contains(word))
    }

    @Test(.enabled(if: TestMedia.hasFFmpeg), arguments: ["24000/1001", "7", "50"])
    func `odd frame rates keep their time`(rate: String) throws {
        let bytes = try TestMedia.run(
            "ffmpeg",
            [
                "-v", "error", "-i", "INPUT", "-r", rate, "-c:v", "libx264", "-bf", "0", "-movflags",
                "frag_keyframe+empty_moov", "-f", "mp4", "-",
            ], input: try TestMedia.bytes("webRtcTestVideo.mp4"), fileExtension: "mp4")
        let track = try #require(try MediaFile(reading: bytes, name: "film.mp4").video)
        let parts = rate.split(separator: "/").compactMap { Double($0) }
        let seconds = Double(track.frames.count) * (parts.count == 2 ? parts[1] / parts[0] : 1 / parts[0])
        #expect(abs(track.duration.seconds - seconds) < 0.000_1)
    }
}
