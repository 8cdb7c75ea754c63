import MediaFiles
import RTCEngine

/// Any bytes as an MP4 file: refused with a sentence, or frames that play. A frame may be longer than
/// its sample: start codes for shorter length fields, and the parameter sets before each key frame.
func fuzzMP4(_ bytes: RawSpan) {
    let input = bytes.withUnsafeBytes { [UInt8]($0) }
    guard let tracks = try? MP4Reader.read(input) else { return }
    for track in tracks {
        var source = MediaSource(track: track)
        source.skipToKeyFrame()
        for _ in 0..<min(64, 2 * track.frames.count) {
            precondition(source.nextDue != nil)
            _ = source.next()
        }
    }
}
