public import RTCWire

/// What a payload type stands for on a stream that is received.
public enum ReceiveCodec: Sendable, Hashable {
    /// Media; ticks a second of its clock.
    case media(PayloadFormat, clockRate: UInt32)
    /// Retransmissions of packets with another payload type (RFC 4588 §8.1, `apt`).
    case retransmission(of: UInt8)
    /// Sound with that of earlier packets (RFC 2198); the blocks name their payload types.
    case redundancy
    /// Telephone keys (RFC 4733); ticks a second.
    case telephoneEvent(clockRate: UInt32)

    /// Media with the format's own clock rate.
    public static func media(_ format: PayloadFormat) -> ReceiveCodec { .media(format, clockRate: format.clockRate) }
}

/// How long complete frames are held back so that they leave evenly.
public enum PlayoutDelay: Sendable, Hashable {
    /// Frames leave as soon as they can be decoded: for recorders and forwarders.
    case none
    /// Frames leave at an even pace, late by four times the measured jitter within these bounds: for players.
    case adaptive(minimum: Interval, maximum: Interval)
}

/// What a `ReceiveStream` is made with: the receiver's part of a negotiated media section.
public struct ReceiveStreamConfiguration: Sendable {
    public var ssrc: UInt32
    /// Where retransmissions come (RFC 4588); nil when they are not negotiated, or no description names it: then those
    /// that repeat a packet of the stream tell.
    public var retransmissionSSRC: UInt32?
    /// Who our feedback is from.
    public var localSSRC: UInt32
    /// What each negotiated payload type stands for.
    public var codecs: [UInt8: ReceiveCodec]
    /// What is read from the packets' headers.
    public var extensions = HeaderExtensionIDs()
    /// The simulcast layer that the stream is of; frames tell it.
    public var rid: String?
    /// Missing packets are asked for (`nack`).
    public var usesNACK = true
    /// Key frames are asked for (`nack pli`).
    public var usesPLI = true
    /// Key frames are asked for by FIR where PLI is not negotiated (`ccm fir`).
    public var usesFIR = false
    /// RFC 5506 was negotiated; otherwise feedback follows an empty receiver report and our canonical name.
    public var allowsReducedSizeRTCP = true
    /// Our canonical name.
    public var cname: String
    /// Frames come out in order, or packets as they come.
    public var unit = MediaUnit.frames
    public var playoutDelay = PlayoutDelay.none
    /// How long a video frame waits for a missing packet before the stream skips to a key frame.
    public var videoHoldLimit = Interval.milliseconds(500)
    /// How long sound waits for a missing packet before it goes on without.
    public var audioHoldLimit = Interval.milliseconds(120)
    /// How long a gap is taken for reordering before the missing packet is asked for.
    public var reorderingTolerance = Interval.milliseconds(10)
    /// A missing packet is asked for at most this often.
    public var maximumNACKs = 10
    /// Key frames are asked for no more often than this.
    public var keyFrameRequestInterval = Interval.milliseconds(300)
    /// Packets held at most; rounded up to a power of two.
    public var maximumPackets = 2_048
    /// Payload bytes held at most.
    public var maximumBytes = 8 << 20

    public init(
        ssrc: UInt32, retransmissionSSRC: UInt32? = nil, localSSRC: UInt32, cname: String,
        codecs: [UInt8: ReceiveCodec]
    ) {
        self.ssrc = ssrc
        self.retransmissionSSRC = retransmissionSSRC
        self.localSSRC = localSSRC
        self.cname = cname
        self.codecs = codecs
    }
}

/// What a `ReceiveStream` has to tell, oldest first.
public enum ReceiveStreamOutput: Sendable, Equatable {
    /// A complete frame that can be decoded after those before it. The timestamp is the sender's.
    case frame(EncodedFrame)
    /// Packets were given up; for video the next frame is a key frame.
    case skipped(packets: Int)
    /// The frames that follow are of another format than those before.
    case codecChanged(PayloadFormat)
    /// A telephone key was pressed or let go.
    case tone(ReceivedTone)
    /// The sender said goodbye.
    case ended
}
