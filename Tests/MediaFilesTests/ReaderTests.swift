import MediaFiles
import RTCEngine
import RTCWire
import Testing

@Suite struct `Reading media files` {
    /// FNV-1a of what `ffmpeg -i webRtcTestVideo.mp4 -c copy -bsf h264_mp4toannexb -f h264 -` writes, with its start
    /// codes of three bytes widened to four.
    private static let annexBHash: UInt64 = 0x64eb_2c19_1ddd_06f7

    @Test func `an MP4 reads as ffmpeg reads it`() throws {
        let track = try TestMedia.track("webRtcTestVideo.mp4")
        #expect(track.format == .h264)
        #expect(track.frames.count == 300)
        #expect(track.width == 640)
        #expect(track.height == 360)
        #expect(track.duration == .milliseconds(10_000))
        #expect(track.frames.map(\.decodeTime) == (0..<300).map { $0 * 3_000 })
        #expect(track.frames.indices.filter { track.frames[$0].isKeyFrame } == Array(stride(from: 0, to: 300, by: 30)))
        #expect(TestMedia.hash(track.frames.lazy.flatMap(\.payload)) == Self.annexBHash)
    }

    @Test func `key frames of an MP4 bring their parameter sets`() throws {
        let track = try TestMedia.track("webRtcTestVideo.mp4")
        for frame in track.frames {
            let configuration = AVCConfiguration(annexB: frame.payload.span.bytes)
            #expect((configuration != nil) == frame.isKeyFrame)
        }
    }

    @Test func `an IVF reads whole`() throws {
        let track = try TestMedia.track("webRtcTestVideo.ivf")
        #expect(track.format == .vp8)
        #expect(track.frames.count == 300)
        #expect(track.width == 640)
        #expect(track.height == 360)
        #expect(track.duration == .milliseconds(10_000))
        #expect(track.frames.first?.isKeyFrame == true)
        #expect(track.frames.filter(\.isKeyFrame).count == 10)
        #expect(track.frames.map(\.decodeTime) == (0..<300).map { $0 * 3_000 })
    }

    @Test func `an Ogg reads as packets of 20 ms`() throws {
        let track = try TestMedia.track("webRtcTestVideo.ogg")
        #expect(track.format == .opus)
        #expect(track.channels == 2)
        #expect(track.preSkip == 312)
        #expect(track.frames.count == 501)
        #expect(track.frames.map(\.decodeTime) == (0..<501).map { $0 * 960 })
        #expect(track.frames.allSatisfy { $0.duration == 960 && $0.isKeyFrame })
    }

    @Test func `a damaged Ogg page is a gap of its length`() throws {
        let whole = try TestMedia.track("webRtcTestVideo.ogg")
        var bytes = try TestMedia.bytes("webRtcTestVideo.ogg")
        bytes[bytes.count / 2] ^= 0xff
        let file = try MediaFile(reading: bytes, name: "damaged.ogg")
        let track = try #require(file.tracks.first)
        #expect(track.frames.count < whole.frames.count)
        #expect(track.frames.last?.decodeTime == whole.frames.last?.decodeTime)
    }

    @Test(.enabled(if: TestMedia.hasFFmpeg))
    func `an MP4 in fragments of another writer reads the same`() throws {
        let bytes = try TestMedia.bytes("webRtcTestVideo.mp4")
        let fragmented = try TestMedia.run(
            "ffmpeg",
            ["-v", "error", "-y", "-i", "INPUT", "-c", "copy", "-movflags", "frag_keyframe", "-f", "mp4", "-"],
            input: bytes, fileExtension: "mp4")
        let track = try #require(try MediaFile(reading: fragmented, name: "fragmented").video)
        #expect(track.frames.map(\.payload) == (try TestMedia.track("webRtcTestVideo.mp4")).frames.map(\.payload))
    }

    @Test func `says in a sentence what is wrong`() {
        #expect(throws: MediaFileError.unknownContainer(file: "notes.txt")) {
            try MediaFile(reading: Array("hello, this is text".utf8), name: "notes.txt")
        }
        #expect(
            MediaFileError.unknownContainer(file: "notes.txt").description
                == "The file notes.txt is not an MP4, IVF, Ogg or WAV file.")
        #expect(throws: MediaFileError.unreadable(file: "/nowhere/film.mp4")) {
            try MediaFile(path: "/nowhere/film.mp4")
        }
        #expect(throws: MediaFileError.noUsableTrack(.ivf)) {
            try MediaFile(
                reading: Array("DKIF\0\0\u{20}\0H264".utf8) + [UInt8](repeating: 1, count: 20), name: "h264.ivf")
        }
    }

    @Test(arguments: ["webRtcTestVideo.mp4", "webRtcTestVideo.ivf", "webRtcTestVideo.ogg"])
    func `prefixes of a file are refused or read in part`(name: String) throws {
        let bytes = try TestMedia.bytes(name)
        // Every prefix of the headers, then by steps: a step does not divide the sizes of boxes, frames or pages.
        let lengths = Array(0..<min(6_000, bytes.count)) + Array(stride(from: 6_000, to: bytes.count, by: 20_011))
        let whole = try TestMedia.track(name).frames
        var count = 0
        for length in lengths {
            let file = try? MediaFile(reading: Array(bytes.prefix(length)), name: name)
            let frames = file?.tracks.first?.frames ?? []
            // The first ones of the whole, and none fewer than of a shorter one.
            #expect(frames.count >= count && frames.count < whole.count, "\(length) bytes")
            #expect(
                zip(frames, whole).allSatisfy { $0.payload == $1.payload && $0.decodeTime == $1.decodeTime },
                "\(length) bytes")
            count = frames.count
        }
        // The table at the front of this MP4 points behind the end of each of them.
        #expect((count == 0) == name.hasSuffix(".mp4"))
    }

    /// From where on the damage tells how much is read of the first 20,000 bytes, how many frames that are, and which
    /// ones of the whole file end it unharmed. The MP4's table points behind them, so nothing is read. The IVF has six
    /// pictures there; behind its header and the first one's only that one is damaged. The Ogg has two pages of sound,
    /// with checksums: the first one is left out, where the damage is in the page before it, too.
    @Test(arguments: [
        ("webRtcTestVideo.mp4", 0, 0, 0..<0), ("webRtcTestVideo.ivf", 44, 6, 1..<6),
        ("webRtcTestVideo.ogg", 47, 50, 50..<100),
    ])
    func `a flipped byte anywhere in the headers does no harm`(
        name: String, start: Int, count: Int, unharmed: Range<Int>
    ) throws {
        let bytes = Array(try TestMedia.bytes(name).prefix(20_000))
        let last = try TestMedia.track(name).frames[unharmed].map(\.payload)
        for index in 0..<2_500 {
            for change: UInt8 in [0xff, 0x80] {
                var damaged = bytes
                damaged[index] ^= change
                let file = try? MediaFile(reading: damaged, name: name)
                let frames = file?.tracks.first?.frames ?? []
                #expect(frames.allSatisfy { !$0.payload.isEmpty && $0.decodeTime >= 0 && $0.duration >= 0 })
                #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.decodeTime <= $1.decodeTime })
                guard index >= start else { continue }
                #expect(frames.count == count, "byte \(index)")
                #expect(frames.suffix(last.count).map(\.payload) == last, "byte \(index)")
            }
        }
    }
}
