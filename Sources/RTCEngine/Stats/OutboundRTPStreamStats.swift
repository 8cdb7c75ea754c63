public import RTCWire

/// A stream that is sent (W3C webrtc-stats: RTCOutboundRtpStreamStats, `outbound-rtp`).
public struct OutboundRTPStreamStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the figures were taken, on the engine's clock.
    public var timestamp: Instant
    /// Of the stream.
    public var ssrc: UInt32
    /// `audio` or `video`.
    public var kind: String
    /// Of the media section; nil when not known to the stream.
    public var mid: String?
    /// The simulcast layer; nil without simulcast.
    public var rid: String?
    /// The `codec` entry; nil when not known to the stream.
    public var codecID: String?
    /// The `transport` entry that carries it; nil when not known to the stream.
    public var transportID: String?
    /// The `media-source` entry; nil when not known to the stream.
    public var mediaSourceID: String?
    /// The layer's place among its sender's; nil without simulcast.
    public var encodingIndex: UInt64?
    /// Whether the descriptions and the application let it be sent.
    public var isActive = true
    /// The `remote-inbound-rtp` entry; nil before the receiver's first report.
    public var remoteID: String?
    /// Of the retransmissions; nil without RTX.
    public var rtxSSRC: UInt32?
    /// Packets of this stream, retransmissions among them, whether by RTX or not.
    public var packetsSent: UInt64 = 0
    /// Of them, those under the stream's own SSRC, which the receiver reports on. Not a member of W3C's.
    public var ownPacketsSent: UInt64 = 0
    /// Payload, without headers and padding.
    public var bytesSent: UInt64 = 0
    /// Headers, extensions and padding, and what RTX names the original by.
    public var headerBytesSent: UInt64 = 0
    /// Of `packetsSent`, answers to NACKs, by RTX or as they were, and probes made of old packets.
    public var retransmittedPacketsSent: UInt64 = 0
    /// Their payload.
    public var retransmittedBytesSent: UInt64 = 0
    /// Frames that were cut into packets.
    public var framesSent: UInt64 = 0
    /// Key frames among them.
    public var keyFramesSent: UInt64 = 0
    /// In bits a second: what its encoder is to make, as `PeerEvent.targetBitrateChanged` told it last. Nil before
    /// that, while nothing may be sent, and of simulcast layers, which share what their sender has.
    public var targetBitrate: Double?
    /// NACK packets that arrived.
    public var nackCount: UInt64 = 0
    /// PLI packets that arrived.
    public var pliCount: UInt64 = 0
    /// FIR commands that arrived, repetitions among them.
    public var firCount: UInt64 = 0
    /// What the frames are.
    public var format: PayloadFormat

    public init(id: String, timestamp: Instant, ssrc: UInt32, format: PayloadFormat) {
        self.id = id
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.format = format
        kind = format.isVideo ? "video" : "audio"
    }
}

/// What the receiver of a sent stream reports (`remote-inbound-rtp`).
public struct RemoteInboundRTPStreamStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the report came, on the engine's clock.
    public var timestamp: Instant
    /// Of the stream.
    public var ssrc: UInt32
    /// `audio` or `video`.
    public var kind: String
    /// The `outbound-rtp` entry of the same stream.
    public var localID: String
    /// The `transport` entry that carries it; nil when not known to the stream.
    public var transportID: String?
    /// The `codec` entry; nil when not known to the stream.
    public var codecID: String?
    /// As the receiver counts; negative when duplicates came.
    public var packetsLost: Int64 = 0
    /// The share lost between the last two reports, 0 to 1.
    public var fractionLost: Double = 0
    /// In seconds.
    public var jitter: Double = 0
    /// In seconds; nil before a measurement.
    public var roundTripTime: Double?
    /// In seconds: the sum of all measurements.
    public var totalRoundTripTime: Double = 0
    /// How many measurements that sum is of.
    public var roundTripTimeMeasurements: UInt64 = 0

    public init(id: String, timestamp: Instant, ssrc: UInt32, kind: String, localID: String) {
        self.id = id
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.kind = kind
        self.localID = localID
    }
}
