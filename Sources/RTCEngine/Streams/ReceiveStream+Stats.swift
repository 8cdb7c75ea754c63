import RTCWire

/// What the stream knows about itself, in W3C's words.
extension ReceiveStream {
    /// The identifier of the stream's `inbound-rtp` entry.
    public var statsID: String { "IT\(ssrc)" }

    /// What a stream that takes this one's place for the same source has to go on with.
    var counted: CountedReception {
        CountedReception(
            ssrc: ssrc, packetsReceived: record.packetsReceived, packetsLost: record.totalPacketsLost,
            counters: counters, reportsReceived: remote.reportsReceived)
    }

    /// Before the first packet. The identifier is that of the stream before, so what is counted may not go back.
    mutating func goOn(with counted: CountedReception) {
        guard counted.ssrc == ssrc, record.highest == nil else { return }
        record = ReceptionRecord(packetsReceived: counted.packetsReceived, packetsLost: counted.packetsLost)
        counters = counted.counters
        remote = RemoteSender(reportsReceived: counted.reportsReceived)
    }

    private var remoteStatsID: String { "RO\(ssrc)" }

    private var kind: String { isVideo ? "video" : "audio" }

    /// The stream as it stands.
    public func stats(at now: Instant) -> InboundRTPStreamStats {
        var stats = InboundRTPStreamStats(id: statsID, timestamp: now, ssrc: ssrc, kind: kind)
        stats.rid = configuration.rid
        // W3C webrtc-stats, RTCReceivedRtpStreamStats: retransmissions over another SSRC are accounted for here.
        stats.ownPacketsReceived = record.packetsReceived
        stats.packetsReceived = record.packetsReceived + counters.rtxPacketsReceived
        stats.bytesReceived = counters.bytesReceived + counters.rtxBytesReceived
        stats.headerBytesReceived = counters.headerBytesReceived + counters.rtxHeaderBytesReceived
        stats.packetsLost = record.totalPacketsLost
        stats.jitter = record.jitterInterval.seconds
        stats.packetsDiscarded = counters.lateDropped + counters.otherDropped
        stats.packetsDuplicated = counters.duplicatesDropped
        stats.packetsSkipped = counters.packetsSkipped
        stats.retransmittedPacketsReceived = counters.retransmittedPacketsReceived
        stats.retransmittedBytesReceived = counters.retransmittedBytesReceived
        stats.packetsRecovered = counters.packetsRecovered
        stats.fecPacketsReceived = counters.redundantBlocks
        stats.fecBytesReceived = counters.redundantBytes
        stats.fecPacketsDiscarded = counters.redundantBlocks - min(counters.redundantBlocks, counters.packetsRecovered)
        stats.jitterBufferDelay = counters.bufferDelay
        stats.jitterBufferEmittedCount = counters.bufferEmitted
        stats.framesAssembledFromMultiplePackets = counters.assembledFrames
        stats.totalAssemblyTime = counters.assemblyTime.seconds
        stats.rtxSSRC = retransmissionSSRC
        stats.remoteID = remote.lastReport == nil ? nil : remoteStatsID
        stats.framesReceived = counters.framesReceived
        stats.keyFramesReceived = counters.keyFramesReceived
        stats.framesDropped = counters.framesDropped
        stats.nackCount = counters.nackCount
        stats.pliCount = counters.pliCount
        stats.firCount = counters.firCount
        stats.lastPacketReceivedTimestamp = counters.lastPacketAt
        stats.format = format
        return stats
    }

    /// What the sender reported last; nil before its first report.
    public func remoteStats() -> RemoteOutboundRTPStreamStats? {
        guard let report = remote.lastReport, let arrivedAt = remote.lastReportAt else { return nil }
        var stats = RemoteOutboundRTPStreamStats(
            id: remoteStatsID, timestamp: arrivedAt, ssrc: ssrc, kind: kind, localID: statsID)
        stats.packetsSent = report.packetCount
        stats.bytesSent = report.octetCount
        stats.remoteTimestamp = report.ntpTime
        stats.reportsSent = remote.reportsReceived
        return stats
    }
}
