public import RTCEngine
public import RTCWire

/// Finds out that a publisher's encoder has gone over to another of the codecs that were agreed, which needs no
/// negotiation (RFC 8829 §5.10: all of an answer's formats may be sent): browsers do so when an encoder fails, and when
/// a page asks for it (W3C webrtc-extensions: `RTCRtpEncodingParameters.codec`).
///
/// Subscribers have agreed on one codec, so a change costs a negotiation with each. Packets that were under way when
/// the encoder changed, and layers in codecs of their own, are no change.
public struct CodecChangeDetector: Sendable {
    /// So long no packet of the codec before comes. Of a picture's layers each sends more often.
    static let quiet = Interval.milliseconds(200)
    static let packets = 5

    private var other: (format: PayloadFormat, since: Instant, packets: Int)?

    public init() {}

    /// A packet of the codec that is passed on.
    @inline(__always) public mutating func receivedUsual() {
        if other != nil { other = nil }
    }

    /// A packet of another one.
    ///
    /// - Returns: whether this is what the publisher sends now. It is said once, and again after as many packets, for
    ///   who hears of it may have to wait.
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
