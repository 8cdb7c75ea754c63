/// One packet of a published stream, as forwarding sees it. Its bytes are in the stream's `PacketHistory`.
public struct PublishedPacket: Sendable, Equatable {
    /// Which of the publication's streams: 0 is the lowest simulcast layer.
    public var layer: UInt8
    /// Where in the payload the packet's own sound begins, behind that of earlier packets (RFC 2198); 0 for a packet
    /// that is not of redundancy.
    public var primaryOffset: UInt16 = 0
    /// The earlier packets are not for others: they were sent while the track was muted.
    public var hidesEarlierSound = false
    /// The sequence number without its wraps.
    public var sequence: Int64
    /// It came before all that are newer.
    public var isNewest = false
    public var timestamp: UInt32
    public var marker: Bool
    /// Nothing but padding (RFC 3550 §5.1), or nothing at all: sent for the bandwidth's sake, of no use to others.
    public var isPadding: Bool
    /// Of sound it says nothing.
    public var video: VideoDescriptor

    /// It brings earlier packets along, and others may have them.
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
