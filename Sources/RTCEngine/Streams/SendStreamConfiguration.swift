public import RTCWire

/// What a `SendStream` is made with: the sender's part of a negotiated media section.
public struct SendStreamConfiguration: Sendable {
    /// Where retransmissions travel (RFC 4588).
    public struct Retransmission: Sendable, Hashable {
        public var ssrc: UInt32
        public var payloadType: UInt8

        public init(ssrc: UInt32, payloadType: UInt8) {
            self.ssrc = ssrc
            self.payloadType = payloadType
        }
    }

    /// Earlier sound that goes with each packet (RFC 2198).
    public struct Redundancy: Sendable, Hashable {
        public var payloadType: UInt8
        /// How many earlier packets.
        public var depth: Int

        public init(payloadType: UInt8, depth: Int) {
            self.payloadType = payloadType
            self.depth = depth
        }
    }

    public var ssrc: UInt32
    public var payloadType: UInt8
    public var format: PayloadFormat
    /// RFC 4588 when negotiated; nil: missing packets are sent again as they were.
    public var retransmission: Retransmission?
    /// Nil: each packet has its own sound only.
    public var redundancy: Redundancy?
    /// The media section's name, put into the first packets; nil when not negotiated.
    public var mid: String?
    /// The simulcast layer's name (RFC 8852), put into every packet as the section's then is: of layers that no
    /// description gives a source for, a receiver knows nothing else. Nil without simulcast.
    public var rid: String?
    public var extensions: HeaderExtensionIDs
    /// Elements longer than 16 bytes may be sent (RFC 8285 §4.1.2).
    public var allowsMixedExtensions = false
    /// Ticks a second of the RTP timestamp.
    public var clockRate: UInt32
    /// The payload type of telephone events; nil when they were not negotiated.
    public var telephoneEventType: UInt8?
    /// The participant's canonical name.
    public var cname: String
    /// Frames go in, or packets that another connection has received.
    public var unit = MediaUnit.frames
    /// Bytes of a packet before protection: header, extensions and payload.
    public var maximumPacketSize = 1_200
    /// How long a packet can be asked for again.
    public var historyDuration = Interval.seconds(Int64(1))
    /// How many packets can be asked for again; 0 when NACK is not negotiated.
    public var historyCount = 1_024
    /// Requests for a key frame are passed on no more often than this.
    public var keyFrameInterval = Interval.milliseconds(300)

    /// `clockRate` is the format's unless given.
    public init(
        ssrc: UInt32, payloadType: UInt8, format: PayloadFormat, clockRate: UInt32? = nil,
        retransmission: Retransmission? = nil, cname: String, mid: String? = nil,
        extensions: HeaderExtensionIDs = HeaderExtensionIDs()
    ) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.format = format
        self.clockRate = clockRate ?? format.clockRate
        self.retransmission = retransmission
        self.cname = cname
        self.mid = mid
        self.extensions = extensions
    }
}

/// What a `SendStream` has to tell.
public enum SendStreamOutput: Sendable, Hashable {
    /// The peer cannot decode: the encoder shall make a key frame.
    case keyFrameRequested
    /// The peer misses a packet that was forwarded: whoever has it may hand it in again (`ForwardedHead.isRepeat`).
    case packetRequested(UInt16)
}
