internal import RTCWire

/// W3C's names for what the entries about streams hold.
extension CodecStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("payloadType", payloadType)
        members.add("transportId", transportID)
        members.add("mimeType", mimeType)
        members.add("clockRate", clockRate)
        members.add("channels", channels)
        members.add("sdpFmtpLine", sdpFmtpLine)
    }
}

extension InboundRTPStreamStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("ssrc", ssrc)
        members.add("kind", kind)
        members.add("transportId", transportID)
        members.add("codecId", codecID)
        members.add("trackIdentifier", trackIdentifier)
        members.add("mid", mid)
        members.add("rid", rid)
        members.add("remoteId", remoteID)
        members.add("rtxSsrc", rtxSSRC)
        members.add("packetsReceived", packetsReceived)
        members.add("bytesReceived", bytesReceived)
        members.add("headerBytesReceived", headerBytesReceived)
        members.add("packetsLost", packetsLost)
        members.add("jitter", jitter)
        members.add("packetsDiscarded", packetsDiscarded)
        members.add("packetsDuplicated", packetsDuplicated)
        members.add("packetsSkipped", packetsSkipped)
        members.add("packetsRecovered", packetsRecovered)
        members.add("retransmittedPacketsReceived", retransmittedPacketsReceived)
        members.add("retransmittedBytesReceived", retransmittedBytesReceived)
        members.add("fecPacketsReceived", fecPacketsReceived)
        members.add("fecBytesReceived", fecBytesReceived)
        members.add("fecPacketsDiscarded", fecPacketsDiscarded)
        members.add("jitterBufferDelay", jitterBufferDelay)
        members.add("jitterBufferEmittedCount", jitterBufferEmittedCount)
        members.add("nackCount", nackCount)
        members.add("lastPacketReceivedTimestamp", lastPacketReceivedTimestamp)
        guard kind == "video" else { return }
        members.add("framesReceived", framesReceived)
        members.add("keyFramesReceived", keyFramesReceived)
        members.add("framesDropped", framesDropped)
        members.add("framesAssembledFromMultiplePackets", framesAssembledFromMultiplePackets)
        members.add("totalAssemblyTime", totalAssemblyTime)
        members.add("pliCount", pliCount)
        members.add("firCount", firCount)
    }
}

extension OutboundRTPStreamStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("ssrc", ssrc)
        members.add("kind", kind)
        members.add("transportId", transportID)
        members.add("codecId", codecID)
        members.add("mid", mid)
        members.add("rid", rid)
        members.add("remoteId", remoteID)
        members.add("mediaSourceId", mediaSourceID)
        members.add("encodingIndex", encodingIndex)
        members.add("active", isActive)
        members.add("rtxSsrc", rtxSSRC)
        members.add("packetsSent", packetsSent)
        members.add("bytesSent", bytesSent)
        members.add("headerBytesSent", headerBytesSent)
        members.add("retransmittedPacketsSent", retransmittedPacketsSent)
        members.add("retransmittedBytesSent", retransmittedBytesSent)
        members.add("targetBitrate", targetBitrate)
        members.add("nackCount", nackCount)
        guard kind == "video" else { return }
        members.add("framesSent", framesSent)
        members.add("keyFramesSent", keyFramesSent)
        members.add("pliCount", pliCount)
        members.add("firCount", firCount)
    }
}

extension RemoteInboundRTPStreamStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("ssrc", ssrc)
        members.add("kind", kind)
        members.add("transportId", transportID)
        members.add("codecId", codecID)
        members.add("localId", localID)
        members.add("packetsLost", packetsLost)
        members.add("fractionLost", fractionLost)
        members.add("jitter", jitter)
        members.add("roundTripTime", roundTripTime)
        members.add("totalRoundTripTime", totalRoundTripTime)
        members.add("roundTripTimeMeasurements", roundTripTimeMeasurements)
    }
}

extension RemoteOutboundRTPStreamStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("ssrc", ssrc)
        members.add("kind", kind)
        members.add("transportId", transportID)
        members.add("codecId", codecID)
        members.add("localId", localID)
        members.add("packetsSent", packetsSent)
        members.add("bytesSent", bytesSent)
        members.add("reportsSent", reportsSent)
        members.add("remoteTimestamp", remoteTimestamp?.unixMilliseconds)
    }
}

extension MediaSourceStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("trackIdentifier", trackIdentifier)
        members.add("kind", kind)
    }
}

extension NTPTimestamp {
    /// As pages have times; the wire's seconds begin in 1900 (RFC 5905 §6).
    fileprivate var unixMilliseconds: Double { (Double(value) / 4_294_967_296 - 2_208_988_800) * 1_000 }
}
