internal import Foundation
internal import MediaFiles

/// Decodes a recording with ffmpeg and reads the frame counter and the tones back: what was received has to be what was
/// sent, in order, without a picture that stands still or comes twice.
struct RecordingCheck {
    /// Frames that were decoded.
    var frames = 0
    /// Counters as they were read; nil where a picture holds none.
    var counters: [Int?] = []
    /// Dominant frequency of each whole second of sound, in Hz.
    var tones: [Double] = []
    /// Pictures from the beginning, the middle and the end, as PNG.
    var thumbnails: [Data] = []

    /// The test video's length in frames: the counter begins again there.
    static let loop = 300

    init(_ recording: URL, ffmpeg: URL) throws {
        let (width, height) = (320, 180)
        let pictures = try ChildProcess.output(
            of: ffmpeg,
            [
                "-v", "error", "-i", recording.path, "-map", "0:v:0", "-fps_mode", "passthrough", "-vf",
                "scale=\(width):\(height)", "-pix_fmt", "gray", "-f", "rawvideo", "-",
            ])
        let size = width * height
        frames = pictures.count / size
        counters = (0..<frames).map { index in
            let picture = [UInt8](
                pictures[pictures.startIndex + index * size..<pictures.startIndex + (index + 1) * size])
            return FrameCounter.read(luma: picture.span.bytes, width: width, height: height, stride: width)
        }
        let sound = try ChildProcess.output(
            of: ffmpeg,
            ["-v", "error", "-i", recording.path, "-map", "0:a:0", "-ac", "1", "-ar", "8000", "-f", "s16le", "-"])
        tones = Self.tones(sound)
        for index in [0, frames / 2, max(0, frames - 1)] {
            thumbnails.append(
                try ChildProcess.output(
                    of: ffmpeg,
                    [
                        "-v", "error", "-i", recording.path, "-vf", "select=eq(n\\,\(index)),scale=320:-1",
                        "-frames:v", "1", "-f", "image2pipe", "-c:v", "png", "-",
                    ]))
        }
    }

    /// What is wrong with the pictures and the sound; empty when they are what was sent.
    func faults(expectedFrames: Int) -> [String] {
        var faults: [String] = []
        let unreadable = counters.filter { $0 == nil }.count
        if unreadable > 0 { faults.append("\(unreadable) pictures hold no readable frame counter") }
        var repeated = 0
        var missing = 0
        let known = counters.compactMap(\.self)
        for (earlier, later) in zip(known, known.dropFirst()) {
            let step = (later - earlier + Self.loop) % Self.loop
            if step == 0 { repeated += 1 } else if step > 1 { missing += step - 1 }
        }
        if repeated > 0 { faults.append("\(repeated) pictures stand still") }
        if missing > 0 { faults.append("\(missing) pictures are missing in between") }
        if frames < expectedFrames { faults.append("only \(frames) of at least \(expectedFrames) pictures came") }
        let audible = tones.filter { $0 > 100 }.count
        if audible < tones.count - 1 || tones.isEmpty { faults.append("the test tones are not heard all the time") }
        if Set(tones.map { ($0 / 20).rounded() }).count < min(3, tones.count) {
            faults.append("the sound does not change from second to second as the test tones do")
        }
        return faults
    }

    /// The strongest frequency of each second, by Goertzel's algorithm in steps of 10 Hz; 0 for silence.
    private static func tones(_ sound: Data) -> [Double] {
        let samples = sound.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        let rate = 8_000
        return stride(from: 0, to: samples.count - rate + 1, by: rate).map { start in
            // The middle half: where two tones meet, neither would win.
            let part = samples[start + rate / 4..<start + 3 * rate / 4].map(Double.init)
            let power = part.reduce(0) { $0 + $1 * $1 } / Double(part.count)
            guard power > 10_000 else { return 0 }
            return stride(from: 200.0, through: 2_000, by: 10).max {
                goertzel(part, $0, rate) < goertzel(part, $1, rate)
            } ?? 0
        }
    }

    private static func goertzel(_ samples: [Double], _ frequency: Double, _ rate: Int) -> Double {
        let coefficient = 2 * cos(2 * Double.pi * frequency / Double(rate))
        var previous = 0.0
        var beforePrevious = 0.0
        for sample in samples {
            (previous, beforePrevious) = (sample + coefficient * previous - beforePrevious, previous)
        }
        return previous * previous + beforePrevious * beforePrevious - coefficient * previous * beforePrevious
    }
}
