/// One packet of a published stream, as forwarding sees it. Its bytes are in the stream's `PacketHistory`.
public struct PublishedPacket: Sendable, Equatable {
    /// Which of the publication's streams: 0 is the lowest simulcast layer.
    public var layer: UInt8
    /// Where in the payload the packet's own sound begins, after that of earlier packets (RFC 2198); 0 without
    /// redundancy.
    public var primaryOffset: UInt16 = 0
    /// Whether the earlier sound must not be forwarded, since it is of when the track was muted.
    public var hidesEarlierSound = false
    /// The sequence number, extended so that it does not wrap.
    public var sequence: Int64
    /// Whether it was newer than all packets before it when it came.
    public var isNewest = false
    public var timestamp: UInt32
    public var marker: Bool
    /// Whether it has only padding (RFC 3550 §5.1) or nothing: sent to measure the path, and of no use to others. A
    /// packet of a muted track counts as one too.
    public var isPadding: Bool
    /// Empty for audio.
    public var video: VideoDescriptor

    /// Whether it carries earlier sound that may be forwarded.
    var bringsEarlierSound: Bool { primaryOffset > 1 && !isPadding && !hidesEarlierSound }

    public init(
        layer: Int = 0, sequence: Int64, timestamp: UInt32, marker: Bool = false, isPadding: Bool = false,
        video: VideoDescriptor = VideoDescriptor()
    ) {
        self.layer = UInt8(layer)
        self.sequence = sequence
        self.timestamp = timestamp
        self.marker = marker
        self.isPadding = isPadding
        self.video = video
    }
}
