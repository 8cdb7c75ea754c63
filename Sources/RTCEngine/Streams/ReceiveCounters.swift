/// What a `ReceiveStream` counts beside RFC 3550's own record.
struct ReceiveCounters: Sendable {
    var bytesReceived: UInt64 = 0
    var headerBytesReceived: UInt64 = 0
    /// Retransmissions and padding under an SSRC of their own.
    var rtxPacketsReceived: UInt64 = 0
    var rtxBytesReceived: UInt64 = 0
    var rtxHeaderBytesReceived: UInt64 = 0
    var retransmittedPacketsReceived: UInt64 = 0
    var retransmittedBytesReceived: UInt64 = 0
    /// Retransmissions that carried nothing, sent to probe for bandwidth, or nothing that is still wanted.
    var retransmissionsIgnored: UInt64 = 0
    /// Lost, and made good by redundancy (RFC 2198).
    var packetsRecovered: UInt64 = 0
    /// Blocks of redundancy, needed or not.
    var redundantBlocks: UInt64 = 0
    var redundantBytes: UInt64 = 0
    /// From a frame's first packet until it left, as W3C's `jitterBufferDelay` and `jitterBufferEmittedCount` have it.
    var bufferDelay = 0.0
    var bufferEmitted: UInt64 = 0
    /// Frames of several packets, and from the first of each to its last.
    var assembledFrames: UInt64 = 0
    var assemblyTime = Interval.zero
    var duplicatesDropped: UInt64 = 0
    /// Came after their place had been given up.
    var lateDropped: UInt64 = 0
    /// Unknown payload types, and jumps of the sequence number that nothing confirmed.
    var otherDropped: UInt64 = 0
    var packetsSkipped: UInt64 = 0
    var framesReceived: UInt64 = 0
    var keyFramesReceived: UInt64 = 0
    /// Complete, but malformed or without their beginning.
    var framesDropped: UInt64 = 0
    var nackCount: UInt64 = 0
    var pliCount: UInt64 = 0
    var firCount: UInt64 = 0
    var lastPacketAt: Instant?
}

/// What has been counted of a source, without its stream.
struct CountedReception: Sendable {
    var ssrc: UInt32
    var packetsReceived: UInt64
    var packetsLost: Int64
    var counters: ReceiveCounters
    /// The peer's.
    var reportsReceived: UInt64
}
