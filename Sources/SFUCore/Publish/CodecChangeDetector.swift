public import RTCEngine
public import RTCWire

/// Detects that a publisher's encoder has changed to another of the negotiated codecs. That needs no negotiation (RFC
/// 8829 §5.10: all formats of an answer may be sent). Browsers do so when an encoder fails, and when a page asks for it
/// (W3C webrtc-extensions: `RTCRtpEncodingParameters.codec`).
///
/// Subscribers have negotiated one codec only, so a change costs a negotiation with each. Packets that were under way
/// when the encoder changed, and layers that have codecs of their own, do not count as a change.
public struct CodecChangeDetector: Sendable {
    /// The encoder has changed when no packet of the former codec came for this long. Every layer of a picture sends
    /// more often.
    static let quiet = Interval.milliseconds(200)
    /// And when at least this many packets of the other codec have come.
    static let packets = 5

    private var other: (format: PayloadFormat, since: Instant, packets: Int)?

    public init() {}

    /// A packet of the codec that is forwarded has come.
    @inline(__always) public mutating func receivedUsual() {
        if other != nil { other = nil }
    }

    /// A packet of another codec has come.
    ///
    /// - Returns: true when the publisher has changed to this codec. It is reported once, and again after every
    ///   `packets` packets, because the owner may not be able to act on it at once.
    public mutating func received(_ format: PayloadFormat, at now: Instant) -> Bool {
        guard let before = other, before.format == format else {
            other = (format, now, 1)
            return false
        }
        guard before.packets + 1 >= Self.packets, now - before.since >= Self.quiet else {
            other?.packets = min(before.packets + 1, Self.packets)
            return false
        }
        other = (format, before.since, 0)
        return true
    }
}
