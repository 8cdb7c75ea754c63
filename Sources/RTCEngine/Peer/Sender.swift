internal import RTCWire

/// The sending side of a transceiver. Its stream outlives a hold: a source that comes back has to count on where it
/// stopped, for SRTP must never see one of its numbers twice (RFC 3711 §9.1).
struct Sender {
    enum Phase {
        /// The descriptions let nothing be sent just now.
        case held
        /// Frames were passed over, or none has been sent yet: the receiver can only begin at a key frame.
        case awaitingKeyFrame
        case flowing
    }

    private(set) var phase: Phase
    var stream: SendStream

    init(stream: SendStream) {
        self.stream = stream
        phase = Self.begin(stream)
    }

    /// Sound can begin with any frame.
    private static func begin(_ stream: SendStream) -> Phase {
        stream.configuration.format.isVideo ? .awaitingKeyFrame : .flowing
    }

    /// Nothing is sent: keys that are not dialed yet are forgotten with what would have paused between them.
    mutating func hold() {
        phase = .held
        stream.tones = ToneSender()
    }

    /// Something may be sent again, or a frame was not sent.
    mutating func beginAnew() { phase = Self.begin(stream) }

    /// Whether a frame is of use to the receiver; one that is not leaves no gap in the numbering.
    mutating func admits(_ frame: EncodedFrame) -> Bool {
        switch phase {
        case .held: return false
        case .awaitingKeyFrame:
            guard frame.isKeyFrame else { return false }
            phase = .flowing
            return true
        case .flowing: return true
        }
    }

    /// A packet is to be forwarded. Which one decoding can begin at, whoever forwards it knows.
    ///
    /// `mutating`, as `mayForward` is: a look through the optional in which a sender lies would copy it.
    ///
    /// - Returns: what decides about its way; nil when nothing may be sent.
    mutating func beginForwarding(_ head: ForwardedHead) -> ForwardingOutlook? {
        guard mayForward() else { return nil }
        phase = .flowing
        return ForwardingOutlook(
            priority: stream.priority(of: head), isNumbered: stream.configuration.extensions.transportSequence != nil,
            canPad: stream.canPad)
    }

    /// As `mayForward`, `mutating` so that nothing is copied.
    mutating func ssrc() -> UInt32 { stream.ssrc }

    /// What frames have to be like; nil when nothing may be sent.
    mutating func format() -> PayloadFormat? { mayForward() ? stream.configuration.format : nil }

    mutating func mayForward() -> Bool {
        switch phase {
        case .held: false
        case .awaitingKeyFrame, .flowing: true
        }
    }
}

/// What decides about the way of a packet that is forwarded.
struct ForwardingOutlook {
    var priority: PacketPriority
    /// For transport-wide feedback.
    var isNumbered: Bool
    /// There are retransmissions, and so padding.
    var canPad: Bool
}
