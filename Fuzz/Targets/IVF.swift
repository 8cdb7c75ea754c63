import MediaFiles
import RTCEngine

/// Any bytes as an IVF file: refused with a sentence, or frames that fit the file and play.
func fuzzIVF(_ bytes: RawSpan) {
    let input = bytes.withUnsafeBytes { [UInt8]($0) }
    guard let tracks = try? [IVFReader.read(input)] else { return }
    for track in tracks {
        precondition(track.frames.reduce(0) { $0 + $1.payload.count } <= input.count)
        var source = MediaSource(track: track)
        source.skipToKeyFrame()
        for _ in 0..<min(64, 2 * track.frames.count) {
            precondition(source.nextDue != nil)
            _ = source.next()
        }
    }
}
