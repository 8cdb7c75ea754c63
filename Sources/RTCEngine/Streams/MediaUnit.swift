/// What goes in and out of the streams of a connection.
public enum MediaUnit: Sendable, Hashable {
    /// Whole frames: for those who play, record or encode.
    case frames
    /// RTP packets, each once and as it comes: for those who pass media on from one connection to others.
    case packets
}
