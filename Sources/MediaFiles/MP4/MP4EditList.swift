import RTCWire

/// Where a track's edit list (ISO/IEC 14496-12 §8.6.6) has it begin: empty edits in front delay it, and the first other
/// one says at which time of its media it begins. What that one leaves out, and what later ones cut or repeat, is
/// played all the same.
struct MP4EditList {
    /// In seconds of the movie.
    private(set) var delay = 0.0
    /// In the track's timescale.
    private(set) var mediaTime: Int64 = 0

    /// Of a track without an edit list.
    init() {}

    /// - Parameter content: Of the `elst` box. What is cut off of it counts as not there.
    init(_ content: RawSpan, movieTimescale: UInt32) {
        var reader = ByteReader(content)
        guard let head = reader.readUInt32(), let count = reader.readUInt32(), movieTimescale > 0 else { return }
        for _ in 0..<count {
            guard let edit = Self.readEdit(&reader, isWide: head >> 24 == 1) else { return }
            guard edit.mediaTime == -1 else {
                mediaTime = edit.mediaTime
                return
            }
            delay += Double(edit.duration) / Double(movieTimescale)
        }
    }

    /// §8.6.6.2: how long, from where in the media (-1: nothing of them), and how fast.
    private static func readEdit(_ reader: inout ByteReader, isWide: Bool) -> (duration: UInt64, mediaTime: Int64)? {
        // The rate stands last, and nothing is played at another.
        defer { reader.skip(4) }
        if isWide {
            guard let duration = reader.readUInt64(), let time = reader.readUInt64() else { return nil }
            return (duration, Int64(bitPattern: time))
        }
        guard let duration = reader.readUInt32(), let time = reader.readUInt32() else { return nil }
        return (UInt64(duration), Int64(Int32(bitPattern: time)))
    }
}
