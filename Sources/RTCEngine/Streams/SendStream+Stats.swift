import RTCWire

/// What the stream knows about itself, in W3C's words.
extension SendStream {
    /// The identifier of the stream's `outbound-rtp` entry.
    public var statsID: String { "OT\(ssrc)" }

    /// The stream as it stands.
    public func stats(at now: Instant) -> OutboundRTPStreamStats {
        var stats = OutboundRTPStreamStats(id: statsID, timestamp: now, ssrc: ssrc, format: configuration.format)
        stats.mid = configuration.mid
        stats.rid = configuration.rid
        stats.remoteID = remote.lastBlock == nil ? nil : remoteStatsID
        stats.rtxSSRC = configuration.retransmission?.ssrc
        // W3C webrtc-stats, RTCOutboundRtpStreamStats: retransmissions over another SSRC are accounted for here.
        stats.ownPacketsSent = counters.packetsSent
        stats.packetsSent = counters.packetsSent + counters.rtxPacketsSent
        stats.bytesSent = counters.bytesSent + counters.rtxBytesSent
        stats.headerBytesSent = counters.headerBytesSent + counters.rtxHeaderBytesSent
        stats.retransmittedPacketsSent = counters.retransmittedPacketsSent
        stats.retransmittedBytesSent = counters.retransmittedBytesSent
        stats.framesSent = counters.framesSent
        stats.keyFramesSent = counters.keyFramesSent
        stats.nackCount = counters.nackCount
        stats.pliCount = counters.pliCount
        stats.firCount = counters.firCount
        return stats
    }

    private var remoteStatsID: String { "RI\(ssrc)" }

    /// What the receiver reported last; nil before its first report.
    public func remoteStats() -> RemoteInboundRTPStreamStats? {
        guard let block = remote.lastBlock, let arrivedAt = remote.lastBlockAt else { return nil }
        var stats = RemoteInboundRTPStreamStats(
            id: remoteStatsID, timestamp: arrivedAt, ssrc: ssrc, kind: configuration.format.isVideo ? "video" : "audio",
            localID: statsID)
        stats.packetsLost = Int64(block.cumulativeLost)
        stats.fractionLost = Double(block.fractionLost) / 256
        stats.jitter = remote.jitter
        stats.roundTripTime = remote.roundTripTime?.seconds
        stats.totalRoundTripTime = remote.totalRoundTripTime.seconds
        stats.roundTripTimeMeasurements = remote.roundTripTimeMeasurements
        return stats
    }

    /// The last measured round trip; nil before the first.
    public var roundTripTime: Interval? { remote.roundTripTime }
}
