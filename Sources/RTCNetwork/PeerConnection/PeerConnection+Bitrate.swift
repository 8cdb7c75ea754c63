public import RTCEngine

/// What encoders should make, so that the path carries it.
extension PeerConnection {
    /// How much the path is thought to carry and each sender's part of it, from now on; each access is a stream of its
    /// own, which keeps the newest only; the first one begins with what was told before it. It ends when the connection
    /// is closed.
    ///
    /// The parts follow the limits that were set by `setBitrateLimits`. Who plays a file need not look: packets above
    /// the estimate are delayed by at most `CongestionConfiguration.maximumQueueTime`, and then leave as they come.
    nonisolated public var targetBitrates: AsyncStream<TargetBitrate> { bitrateBroadcast.stream() }

    /// What a sender wants of the connection's bitrate, and how important it is beside others (W3C: priority and
    /// maxBitrate of RTCRtpEncodingParameters). Effective at once.
    public func setBitrateLimits(_ limits: SenderBitrateLimits, of transceiver: RTPTransceiver)
        throws(PeerConnectionError)
    {
        defer { flush() }
        try refusing { () throws(PeerError) in
            try machine.setBitrateLimits(limits, of: transceiver.id, at: NetworkLoop.now)
        }
    }
}
