extension DataChannels {
    /// Adds an entry for each channel that is not closed, and one for the association.
    func addStats(to report: inout StatsReport, transportID: String, at now: Instant) {
        for id in channelsInOrder {
            guard let channel = channels[id] else { continue }
            var stats = DataChannelStats(
                id: "D\(id.rawValue)", timestamp: now, label: channel.label, protocol: channel.options.protocol,
                state: channel.state.rawValue)
            stats.dataChannelIdentifier = channel.stream
            stats.messagesSent = channel.counters.messagesSent
            stats.bytesSent = channel.counters.bytesSent
            stats.messagesReceived = channel.counters.messagesReceived
            stats.bytesReceived = channel.counters.bytesReceived
            report.add(.dataChannel(stats))
        }
        guard let figures = association?.statistics else { return }
        var stats = SCTPTransportStats(id: "SCTP0", timestamp: now, transportID: transportID)
        stats.smoothedRoundTripTime = figures.smoothedRoundTripTime?.seconds
        stats.congestionWindow = UInt64(clamping: figures.congestionWindow)
        stats.receiverWindow = UInt64(clamping: figures.remoteReceiveWindow)
        stats.mtu = UInt64(clamping: figures.maximumPacketSize)
        stats.unackData = UInt64(clamping: figures.unacknowledgedChunks)
        stats.packetsSent = UInt64(clamping: figures.packetsSent)
        stats.packetsReceived = UInt64(clamping: figures.packetsReceived)
        stats.bytesSent = UInt64(clamping: figures.bytesSent)
        stats.bytesReceived = UInt64(clamping: figures.bytesReceived)
        stats.retransmissions = UInt64(clamping: figures.chunksRetransmitted)
        report.add(.sctpTransport(stats))
    }
}
