import Foundation
import MediaFiles
import RTCEngine
import RTCWire
import Testing

/// What `roost demo` believes, and what it does not.
@Suite struct `Received is what was sent` {
    private func faults(_ counters: [Int?], atLeast expected: Int = 0) -> [String] {
        PictureSequence(counters).faults(atLeast: expected)
    }

    @Test func `pictures one after the other, from anywhere, through the loop`() {
        #expect(faults((40..<700).map { $0 % 300 }, atLeast: 660).isEmpty)
        #expect(faults([7], atLeast: 1).isEmpty)
    }

    @Test func `a picture that stands still`() {
        #expect(faults([1, 2, 3, 3, 3, 4]) == ["2 pictures stand still"])
        #expect(faults([1, 1, 2]) == ["1 picture stands still"])
    }

    @Test func `pictures that are missing`() {
        #expect(faults([1, 2, 5, 6]) == ["2 pictures are missing in between"])
        #expect(faults([298, 0, 1]) == ["1 picture is missing in between"])
        #expect(faults([1, 2, 3], atLeast: 4) == ["only 3 of at least 4 pictures came"])
        #expect(faults([], atLeast: 1) == ["only 0 of at least 1 pictures came"])
    }

    @Test func `pictures that are swapped`() {
        let swapped = faults([1, 2, 4, 3, 5, 6])
        #expect(swapped.contains("1 picture comes after a later one"))
        #expect(swapped.contains { $0.contains("missing") })
    }

    @Test func `pictures that cannot be read count in the sequence`() {
        #expect(faults([1, nil, 3]) == ["1 picture holds no readable frame counter"])
        #expect(faults([1, nil, 2]).contains("1 picture stands still"))
        #expect(faults([1, nil, 9]).contains("6 pictures are missing in between"))
    }

    private func sound(_ tones: [Int], from start: Double = 0.4) -> [Int16] {
        let rate = Double(ToneSequence.sampleRate)
        return (Int(start * rate)..<tones.count * ToneSequence.sampleRate).map { sample in
            let tone = tones[sample / ToneSequence.sampleRate]
            guard tone >= 0 else { return 0 }
            let phase: Double = ToneSequence.tones[tone] * Double(sample) / rate
            return Int16(sin(2 * Double.pi * phase) * 9_000)
        }
    }

    @Test func `the test tones in their order, from anywhere`() {
        let tones = ToneSequence(sound([3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3]))
        #expect(tones.faults(atLeast: 10).isEmpty)
        #expect(tones.heard > 9.5 && tones.duration < 11)
    }

    @Test func `sound that stops, stands still, jumps or never comes`() {
        #expect(ToneSequence(sound([3, -1, 5])).faults(atLeast: 0).contains { $0.hasPrefix("no tone is heard for 1") })
        #expect(
            ToneSequence(sound([3, 3, 3])).faults(atLeast: 0) == ["a test tone lasts longer than it was sent"])
        #expect(ToneSequence(sound([3, 5, 4])).faults(atLeast: 0) == ["the test tones do not come in their order"])
        #expect(ToneSequence([]).faults(atLeast: 1) == ["the test tones are heard for 0 s of at least 1 s"])
        var random = SystemRandomNumberGenerator()
        let noise = (0..<80_000).map { _ in Int16.random(in: -9_000...9_000, using: &random) }
        #expect(ToneSequence(noise).heard < 1)
    }

    @Test(.enabled(if: TestMedia.hasFFmpeg)) func `the committed tones, decoded`() throws {
        let decoded = try TestMedia.run(
            "ffmpeg", ["-v", "error", "-i", "INPUT", "-ac", "1", "-ar", "8000", "-f", "s16le", "-"],
            input: try TestMedia.bytes("webRtcTestVideo.ogg"), fileExtension: "ogg")
        let tones = ToneSequence(decoded.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) })
        #expect(tones.faults(atLeast: 9).isEmpty)
    }

    /// Changes of a stream of key frames, recorded and decoded: the whole way that the demo's check goes.
    @Test(
        .enabled(if: TestMedia.hasFFmpeg),
        arguments: [
            ("nothing", nil), ("frozen", "stand still"), ("missing", "missing"), ("swapped", "after a later one"),
        ] as [(String, String?)])
    func `a recording of a call that went wrong does not pass`(fault: String, word: String?) throws {
        let encoded = try TestMedia.run(
            "ffmpeg",
            [
                "-v", "error", "-i", "INPUT", "-frames:v", "60", "-c:v", "libx264", "-profile:v", "baseline", "-g", "1",
                "-movflags", "frag_keyframe+empty_moov", "-f", "mp4", "-",
            ], input: try TestMedia.bytes("webRtcTestVideo.mp4"), fileExtension: "mp4")
        var track = try #require(try MediaFile(reading: encoded, name: "film.mp4").video)
        var payloads = track.frames.map(\.payload)
        switch fault {
        case "frozen": for index in 20..<40 { payloads[index] = payloads[20] }
        case "missing": payloads.removeSubrange(20..<30)
        case "swapped": payloads.swapAt(20, 21)
        default: break
        }
        track.frames = zip(track.frames, payloads).map { frame, payload in
            var frame = frame
            frame.payload = payload
            return frame
        }
        let (bytes, _) = try record(video: track, audio: nil)
        let gray = try TestMedia.run(
            "ffmpeg",
            [
                "-v", "error", "-i", "INPUT", "-vf", "scale=320:180", "-fps_mode", "passthrough", "-f", "rawvideo",
                "-pix_fmt", "gray", "-",
            ], input: bytes, fileExtension: "mp4")
        let counters = (0..<gray.count / 57_600).map { frame in
            FrameCounter.read(
                luma: gray.span.bytes.extracting(frame * 57_600..<(frame + 1) * 57_600), width: 320, height: 180,
                stride: 320)
        }
        let found = PictureSequence(counters).faults(atLeast: 45)
        #expect(found.isEmpty == (word == nil))
        if let word { #expect(found.contains { $0.contains(word) }) }
    }
}
