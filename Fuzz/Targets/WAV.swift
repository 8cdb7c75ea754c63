import MediaFiles

/// Any bytes as a WAV file: refused with a sentence, or frames that fit the file.
func fuzzWAV(_ bytes: RawSpan) {
    let input = Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WAVE".utf8) + bytes.withUnsafeBytes { [UInt8]($0) }
    guard let file = try? MediaFile(reading: input, name: "a.wav") else { return }
    for track in file.tracks { precondition(track.frames.reduce(0) { $0 + $1.payload.count } <= input.count) }
}
