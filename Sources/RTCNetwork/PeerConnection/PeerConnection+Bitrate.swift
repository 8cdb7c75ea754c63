public import RTCEngine

/// What encoders should make, so that the path carries it.
extension PeerConnection {
    /// The estimated bitrate of the path, and the part of it for each sender, from now on. Each access is a stream of
    /// its own that keeps only the newest value. The first stream begins with the value before it, if there was one. A
    /// stream ends when the connection is closed.
    ///
    /// The parts follow the limits that were set by `setBitrateLimits`. A program that plays files need not follow
    /// them: packets above the estimate are delayed by at most `CongestionConfiguration.maximumQueueTime`, and are then
    /// sent as they come.
    nonisolated public var targetBitrates: AsyncStream<TargetBitrate> { bitrateBroadcast.stream() }

    /// Sets how much of the connection's bitrate a sender wants, and how important it is beside the others (W3C:
    /// priority and maxBitrate of RTCRtpEncodingParameters). Effective at once.
    public func setBitrateLimits(_ limits: SenderBitrateLimits, of transceiver: RTPTransceiver)
        throws(PeerConnectionError)
    {
        defer { flush() }
        try refusing { () throws(PeerError) in
            try machine.setBitrateLimits(limits, of: transceiver.id, at: NetworkLoop.now)
        }
    }
}
