extension ReceiveStream {
    /// Goes on under other parameters, after a renegotiation: what is held, counted and known of the source stays.
    ///
    /// - Returns: false when that cannot be, for another source, one that has ended, or a payload type that means
    ///   something else now: then nothing has changed, and a new stream is to be made.
    public mutating func reconfigure(_ next: ReceiveStreamConfiguration) -> Bool {
        guard next.ssrc == ssrc, !hasEnded else { return false }
        for (payloadType, codec) in next.codecs {
            if let known = configuration.codecs[payloadType], known != codec { return false }
        }
        // Bounds of what is already in use are not moved.
        guard next.maximumPackets == configuration.maximumPackets, next.maximumBytes == configuration.maximumBytes
        else { return false }
        configuration = next
        // A source of retransmissions that packets have told stays known when the descriptions say none.
        retransmissionSSRC = next.retransmissionSSRC ?? retransmissionSSRC
        return true
    }

    /// Whom our feedback is from, and whether it may go without a report (RFC 5506).
    public mutating func noteFeedbackSource(_ ssrc: UInt32, allowsReducedSize: Bool) {
        configuration.localSSRC = ssrc
        configuration.allowsReducedSizeRTCP = allowsReducedSize
    }
}
