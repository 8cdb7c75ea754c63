/// The receiving side of a transceiver: what was negotiated, and the stream of the source that sends now.
struct Receiver {
    var parameters: ReceiveParameters {
        didSet { mediaTypes = PayloadTypeSet(parameters.codecs.lazy.map(\.payloadType)) }
    }
    /// The payload types that carry media, rather than retransmissions.
    private var mediaTypes: PayloadTypeSet
    /// Nil until a source is known, by a description or by its first packet.
    var stream: ReceiveStream?
    /// The source before this one: its last packets may come after the first ones of the present.
    private var formerSSRC: UInt32?
    private var takenOverAt: Instant?

    /// Packets of the source before that come within this time of the change were overtaken on the way.
    private static let lateness = Interval.milliseconds(500)
    /// Later they are the source itself, which a server has switched back to, if the present one is not heard any more:
    /// pictures and sound come more often than this.
    private static let silence = Interval.milliseconds(100)
    /// A new stream throws away what the one before holds, and makes buffers: not for each packet of a peer that
    /// sends every one as another source.
    private static let takeoverInterval = Interval.milliseconds(100)

    init(parameters: ReceiveParameters) {
        self.parameters = parameters
        mediaTypes = PayloadTypeSet(parameters.codecs.lazy.map(\.payloadType))
    }

    /// What an incoming packet is to this receiver.
    enum Reception {
        /// Of the present source, or a retransmission.
        case known
        /// The first one of a source that takes over.
        case newSource
        /// A late one of a source that is over.
        case stale
    }

    /// `mutating` only so that it works where the receiver lies: a copy, made to look, counts references to every
    /// buffer of the stream.
    mutating func reception(of ssrc: UInt32, payloadType: UInt8, at now: Instant) -> Reception {
        guard mediaTypes.contains(payloadType), stream?.ssrc != ssrc else { return .known }
        return takesOver(ssrc, at: now) ? .newSource : .stale
    }

    /// The source of retransmissions that the peer has said for a source of media.
    func retransmissionSSRC(of ssrc: UInt32) -> UInt32? {
        guard let sources = parameters.sources, sources.primary == ssrc else { return nil }
        return sources.rtx
    }

    /// Whether a packet of another source begins a new stream: the peer has started over, or its server sends another
    /// camera. Late packets of the source before do not, while the present one is heard.
    func takesOver(_ ssrc: UInt32, at now: Instant) -> Bool {
        guard let stream else { return true }
        guard let takenOverAt else { return true }
        let age = now - takenOverAt
        if age < Self.takeoverInterval { return false }
        guard ssrc == formerSSRC, let last = stream.counters.lastPacketAt else { return true }
        return age >= Self.lateness && now - last >= Self.silence
    }

    /// A stream takes the place of the present one, if there is one.
    mutating func begin(_ next: consuming ReceiveStream) {
        next.takeOver(from: stream)
        stream = next
    }

    /// A new stream is about to take the place of the present one.
    mutating func noteTakeover(at now: Instant) {
        // The first stream of all takes nobody's place. Counters may be of streams before it; the record is its own.
        guard let stream, stream.record.highest != nil else { return }
        formerSSRC = stream.ssrc
        takenOverAt = now
    }
}

/// Payload types as bits: looked up for each packet.
struct PayloadTypeSet {
    private var bits: (UInt64, UInt64) = (0, 0)

    /// Those of 128 and above do not exist (RFC 3550 §5.1) and are left out.
    init(_ types: some Sequence<UInt8>) {
        for type in types {
            switch type {
            case 0..<64: bits.0 |= 1 << UInt64(type)
            case 64..<128: bits.1 |= 1 << UInt64(type - 64)
            default: continue
            }
        }
    }

    func contains(_ type: UInt8) -> Bool {
        switch type {
        case 0..<64: bits.0 >> UInt64(type) & 1 == 1
        case 64..<128: bits.1 >> UInt64(type - 64) & 1 == 1
        default: false
        }
    }
}
