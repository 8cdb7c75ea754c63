import RTCWire

/// Reads IVF, the simple container of the VP8, VP9 and AV1 tools: a header of 32 bytes, then frames, each after 12
/// bytes of size and time. All fields are little-endian.
public enum IVFReader {
    /// - Throws: `malformed` for a broken header, `noUsableTrack` for another codec. A file that was cut off while it
    ///   was written yields the frames that are whole.
    public static func read(_ bytes: [UInt8]) throws(MediaFileError) -> MediaTrack {
        let span = bytes.span.bytes
        guard span.uint32(at: 0) == 0x444b_4946, let headerSize = span.littleEndian16(at: 6), headerSize >= 32,
            let width = span.littleEndian16(at: 12), let height = span.littleEndian16(at: 14),
            let rate = span.littleEndian32(at: 16), let scale = span.littleEndian32(at: 20), rate > 0
        else { throw .malformed(.ivf, detail: "its header is cut off or wrong") }
        guard let codec = span.uint32(at: 8).flatMap({ IVFCodec(rawValue: $0) }) else { throw .noUsableTrack(.ivf) }

        // A time of n means n * scale / rate seconds.
        let clock = Int64(codec.format.clockRate)
        var track = MediaTrack(format: codec.format, frames: [])
        track.width = Int(width)
        track.height = Int(height)
        var reader = ByteReader(span)
        reader.skip(Int(headerSize))
        var first: Int64?
        var latest: Int64 = 0
        while let header = reader.readSpan(12), let size = header.littleEndian32(at: 0),
            let low = header.littleEndian32(at: 4), let high = header.littleEndian32(at: 8),
            let payload = reader.readBytes(Int(size))
        {
            guard !payload.isEmpty else { continue }
            guard high == 0, let time = MediaClock.scale(Int64(low), by: clock * Int64(scale), over: Int64(rate)) else {
                throw .malformed(.ivf, detail: "a frame's time is out of range")
            }
            let start = first ?? time
            first = start
            latest = max(latest, time - start)
            guard track.frames.count < MediaFile.maximumFrames else { throw .tooManyFrames(.ivf) }
            let isKeyFrame = codec.format.isKeyFrame(payload.span.bytes)
            track.frames.append(
                MediaTrack.Frame(
                    payload: payload, decodeTime: latest,
                    duration: MediaClock.scale(1, by: clock * Int64(scale), over: Int64(rate)) ?? 3_000,
                    isKeyFrame: isKeyFrame))
        }
        track.closeGaps()
        // A frame lasts until the next one, not one tick of a clock that may be fine; the last is like the one before.
        if track.frames.count > 1 {
            track.frames[track.frames.count - 1].duration = track.frames[track.frames.count - 2].duration
        }
        guard !track.frames.isEmpty else { throw .malformed(.ivf, detail: "it holds no whole frame") }
        return track
    }
}
