import RTCEngine

/// What a recorder wants done to its file. Apply them in order.
public enum FileChange: Sendable, Equatable {
    /// Write these bytes at the end.
    case append([UInt8])
    /// Replace bytes that were written before. A file on which this is never done is readable all the same.
    case overwrite([UInt8], offset: Int)
}

/// One frame on its way into a container.
struct RecordedSample: Sendable, Equatable {
    enum Kind: Sendable {
        case video
        case audio
    }

    var kind: Kind
    /// As `EncodedFrame.payload`.
    var payload: [UInt8]
    /// From the start of the recording, in ticks of the format's RTP clock; ascending for each kind.
    var time: Int64
    /// Until the next sample of its kind, in the same ticks.
    var duration: Int64
    var isKeyFrame: Bool
}

/// Writes one kind of container. It is given about a second of samples at a time, and what it returned is on disk
/// before the next: so what a killed recorder leaves behind ends with a whole fragment.
protocol ContainerWriter: Sendable {
    /// The bytes before the first sample. Called once, first.
    mutating func begin() -> [FileChange]
    /// Samples of both kinds, ordered by time.
    mutating func write(_ samples: [RecordedSample]) -> [FileChange]
    /// Called once, last.
    mutating func finish(duration: Interval) -> [FileChange]
}

/// How the recorded Opus track is described. RFC 7587 §7: every receiver must cope with two channels, whatever the
/// packets hold.
enum RecordedOpus {
    static let channels: UInt8 = 2
    /// What libopus delays the sound by, in samples; a player skips as much (RFC 7845 §4.2).
    static let preSkip: UInt16 = 312

    /// RFC 7845 §5.1, as Ogg and Matroska hold it.
    static var head: [UInt8] {
        var head = Array("OpusHead".utf8)
        head.append(1)
        head.append(channels)
        head.append(littleEndian16: preSkip)
        head.append(littleEndian32: 48_000)
        head.append(littleEndian16: 0)  // output gain
        head.append(0)  // mapping family
        return head
    }
}
