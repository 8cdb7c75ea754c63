public import RTCWire

/// A stream that is received (W3C webrtc-stats: RTCInboundRtpStreamStats, `inbound-rtp`).
public struct InboundRTPStreamStats: Sendable, Hashable {
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
    /// The track that the frames are of, as the peer's `a=msid` names it; nil when it names none.
    public var trackIdentifier: String?
    /// The `remote-outbound-rtp` entry; nil before the sender's first report.
    public var remoteID: String?
    /// Of the retransmissions; nil without RTX, and before the first one of a sender that does not name it.
    public var rtxSSRC: UInt32?
    /// Packets of this stream, duplicates among them, and retransmissions, whether by RTX or not.
    public var packetsReceived: UInt64 = 0
    /// Of them, those under the stream's own SSRC, which `packetsLost` is about. Not a member of W3C's.
    public var ownPacketsReceived: UInt64 = 0
    /// Payload of them all, without headers and padding.
    public var bytesReceived: UInt64 = 0
    /// Headers, extensions and padding.
    public var headerBytesReceived: UInt64 = 0
    /// RFC 3550 §A.3: negative when duplicates came. Retransmissions by RTX do not count.
    public var packetsLost: Int64 = 0
    /// In seconds.
    public var jitter: Double = 0
    /// Came too late, or were of no use. What came twice is in `packetsDuplicated`.
    public var packetsDiscarded: UInt64 = 0
    /// Came twice.
    public var packetsDuplicated: UInt64 = 0
    /// Given up: no frame waited for them any longer.
    public var packetsSkipped: UInt64 = 0
    /// Of `packetsReceived`, those that were sent again, by RTX or as they were.
    public var retransmittedPacketsReceived: UInt64 = 0
    /// Their payload.
    public var retransmittedBytesReceived: UInt64 = 0
    /// Lost, and made good by redundancy (RFC 2198).
    public var packetsRecovered: UInt64 = 0
    /// Earlier packets that came again inside others (RFC 2198).
    public var fecPacketsReceived: UInt64 = 0
    /// Their payload.
    public var fecBytesReceived: UInt64 = 0
    /// Those among them that no gap waited for.
    public var fecPacketsDiscarded: UInt64 = 0
    /// In seconds, from a frame's first packet until it was passed on: the sum over frames of video, and over samples
    /// of sound, as W3C has it.
    public var jitterBufferDelay: Double = 0
    /// How many frames or samples that sum is over.
    public var jitterBufferEmittedCount: UInt64 = 0
    /// Frames of more than one packet.
    public var framesAssembledFromMultiplePackets: UInt64 = 0
    /// In seconds, from the first to the last packet that came of such a frame: the sum over them.
    public var totalAssemblyTime: Double = 0
    /// Complete frames that were passed on.
    public var framesReceived: UInt64 = 0
    /// Key frames among them.
    public var keyFramesReceived: UInt64 = 0
    /// Complete, but malformed or without their beginning, or not taken by a listener in time.
    public var framesDropped: UInt64 = 0
    /// NACK packets that we sent.
    public var nackCount: UInt64 = 0
    /// PLI packets that we sent.
    public var pliCount: UInt64 = 0
    /// FIR packets that we sent.
    public var firCount: UInt64 = 0
    /// When the last packet came; nil before the first.
    public var lastPacketReceivedTimestamp: Instant?
    /// What the frames are; nil before the first.
    public var format: PayloadFormat?

    public init(id: String, timestamp: Instant, ssrc: UInt32, kind: String) {
        self.id = id
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.kind = kind
    }
}

/// What the sender of a received stream reports (`remote-outbound-rtp`).
public struct RemoteOutboundRTPStreamStats: Sendable, Hashable {
    /// Unique in a report, and the same from report to report.
    public var id: String
    /// When the report came, on the engine's clock.
    public var timestamp: Instant
    /// Of the stream.
    public var ssrc: UInt32
    /// `audio` or `video`.
    public var kind: String
    /// The `inbound-rtp` entry of the same stream.
    public var localID: String
    /// The `transport` entry that carries it; nil when not known to the stream.
    public var transportID: String?
    /// The `codec` entry; nil when not known to the stream.
    public var codecID: String?
    /// As the sender counts; wraps at 2³².
    public var packetsSent: UInt32 = 0
    /// Payload, as the sender counts; wraps at 2³².
    public var bytesSent: UInt32 = 0
    /// The sender's wall clock when it made the last report.
    public var remoteTimestamp: NTPTimestamp?
    /// Sender reports that arrived.
    public var reportsSent: UInt64 = 0

    public init(id: String, timestamp: Instant, ssrc: UInt32, kind: String, localID: String) {
        self.id = id
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.kind = kind
        self.localID = localID
    }
}
