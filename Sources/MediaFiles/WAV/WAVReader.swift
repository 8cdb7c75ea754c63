import RTCWire

/// Reads G.711 from a WAV file (RIFF with the format tags 6 and 7), one channel at 8,000 samples a second.
enum WAVReader {
    /// Twenty milliseconds, as telephones send it.
    private static let frameSize = 160

    /// - Throws: `malformed` for a broken file, `noUsableTrack` for other sound. A file that was cut off while it was
    ///   written yields what is there.
    static func read(_ bytes: [UInt8]) throws(MediaFileError) -> MediaTrack {
        let span = bytes.span.bytes
        guard span.uint32(at: 0) == 0x5249_4646, span.uint32(at: 8) == 0x5741_5645 else {
            throw .malformed(.wav, detail: "its header is cut off or wrong")
        }
        var format: PayloadFormat?
        var reader = ByteReader(span)
        reader.skip(12)
        while let name = reader.readUInt32(), let head = reader.readSpan(4), let told = head.littleEndian32(at: 0) {
            // A recording that was not ended, or went through a pipe, has no true size.
            let size = min(Int(told), reader.remaining)
            guard let content = reader.readSpan(size) else { break }
            switch name {
            case 0x666d_7420:  // fmt
                guard let tag = content.littleEndian16(at: 0), content.littleEndian16(at: 2) == 1,
                    content.littleEndian32(at: 4) == 8_000, let known = Self.format(tag: tag)
                else { throw .noUsableTrack(.wav) }
                format = known
            case 0x6461_7461:  // data
                guard let format else { throw .malformed(.wav, detail: "its sound comes before the format") }
                return try track(format, content)
            default: break
            }
            // RIFF chunks begin at even places.
            if size % 2 == 1 { reader.skip(1) }
        }
        throw .malformed(.wav, detail: "it holds no sound")
    }

    private static func format(tag: UInt16) -> PayloadFormat? {
        switch tag {
        case 6: .pcma
        case 7: .pcmu
        default: nil
        }
    }

    private static func track(_ format: PayloadFormat, _ data: RawSpan) throws(MediaFileError) -> MediaTrack {
        var track = MediaTrack(format: format, frames: [])
        track.channels = 1
        var reader = ByteReader(data)
        while reader.remaining > 0, let payload = reader.readBytes(min(frameSize, reader.remaining)) {
            guard track.frames.count < MediaFile.maximumFrames else { throw .tooManyFrames(.wav) }
            track.frames.append(
                MediaTrack.Frame(
                    payload: payload, decodeTime: Int64(track.frames.count * frameSize),
                    duration: Int64(payload.count), isKeyFrame: true))
        }
        guard !track.frames.isEmpty else { throw .malformed(.wav, detail: "it holds no sound") }
        return track
    }
}
