internal import Foundation
internal import MediaFiles

/// Decodes a recording with ffmpeg and reads the frame counter and the tones back: what was received has to be what was
/// sent, in order, without a picture that stands still or comes twice.
struct RecordingCheck {
    let pictures: PictureSequence
    let sound: ToneSequence
    /// Pictures from the beginning, the middle and the end, as PNG.
    private(set) var thumbnails: [Data] = []

    /// - Throws: `CommandError` when ffmpeg cannot read the recording.
    init(_ recording: URL, ffmpeg: URL) throws {
        let (width, height) = (320, 180)
        let gray = try ChildProcess.output(
            of: ffmpeg,
            [
                "-v", "error", "-i", recording.path, "-map", "0:v:0", "-fps_mode", "passthrough", "-vf",
                "scale=\(width):\(height)", "-pix_fmt", "gray", "-f", "rawvideo", "-",
            ])
        let size = width * height
        let count = gray.count / size
        pictures = PictureSequence(
            (0..<count).map { index in
                let start = gray.startIndex + index * size
                let picture = [UInt8](gray[start..<start + size])
                return FrameCounter.read(luma: picture.span.bytes, width: width, height: height, stride: width)
            })
        let samples = try ChildProcess.output(
            of: ffmpeg,
            [
                "-v", "error", "-i", recording.path, "-map", "0:a:0", "-ac", "1", "-ar",
                "\(ToneSequence.sampleRate)", "-f", "s16le", "-",
            ])
        sound = ToneSequence(samples.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) })
        for index in [0, count / 2, max(0, count - 1)] {
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
    /// - Parameter seconds: How much has to be there.
    func faults(atLeast seconds: Double) -> [String] {
        pictures.faults(atLeast: Int(seconds * 30)) + sound.faults(atLeast: seconds)
    }
}
