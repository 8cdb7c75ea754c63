/// What a receiver tells about one source (RFC 3550 §6.4.1).
public struct ReportBlock: Sendable, Hashable {
    /// The source that is reported on.
    public var ssrc: UInt32
    /// Packets lost since the last report, in 1/256 of those expected.
    public var fractionLost: UInt8
    /// Packets lost since the beginning; negative when duplicates came. 24 bits on the wire: clamped.
    public var cumulativeLost: Int32
    /// The highest sequence number received, with the count of cycles in the upper half.
    public var highestSequenceNumber: UInt32
    /// Interarrival jitter in ticks of the media clock.
    public var jitter: UInt32
    /// The middle 32 bits of the last sender report's time; 0 when none came.
    public var lastSenderReport: UInt32
    /// Since that report came, in 1/65,536 seconds.
    public var delaySinceLastSenderReport: UInt32

    public init(
        ssrc: UInt32, fractionLost: UInt8, cumulativeLost: Int32, highestSequenceNumber: UInt32, jitter: UInt32,
        lastSenderReport: UInt32, delaySinceLastSenderReport: UInt32
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequenceNumber = highestSequenceNumber
        self.jitter = jitter
        self.lastSenderReport = lastSenderReport
        self.delaySinceLastSenderReport = delaySinceLastSenderReport
    }

    /// Bytes on the wire.
    public static let size = 24

    init?(reading reader: inout ByteReader) {
        guard reader.remaining >= Self.size, let ssrc = reader.readUInt32(), let fraction = reader.readUInt8(),
            let lost = reader.readUInt24(), let highest = reader.readUInt32(), let jitter = reader.readUInt32(),
            let last = reader.readUInt32(), let delay = reader.readUInt32()
        else { return nil }
        // 24 bits of two's complement: the sign is extended by a shift up and an arithmetic shift down.
        self.init(
            ssrc: ssrc, fractionLost: fraction, cumulativeLost: Int32(bitPattern: lost << 8) >> 8,
            highestSequenceNumber: highest, jitter: jitter, lastSenderReport: last,
            delaySinceLastSenderReport: delay)
    }

    func write(into packet: inout [UInt8]) {
        packet.append(uint32: ssrc)
        packet.append(fractionLost)
        packet.append(uint24: UInt32(bitPattern: min(max(cumulativeLost, -0x80_0000), 0x7f_ffff)))
        packet.append(uint32: highestSequenceNumber)
        packet.append(uint32: jitter)
        packet.append(uint32: lastSenderReport)
        packet.append(uint32: delaySinceLastSenderReport)
    }
}

/// A sender report (RFC 3550 §6.4.1).
public struct SenderReport: Sendable, Hashable {
    /// The sender.
    public var ssrc: UInt32
    /// When this was sent.
    public var ntpTime: NTPTimestamp
    /// The same moment on the media clock, with the stream's random offset.
    public var rtpTimestamp: UInt32
    public var packetCount: UInt32
    /// Payload bytes, without headers and padding.
    public var octetCount: UInt32
    /// At most 31.
    public var blocks: [ReportBlock]

    public init(
        ssrc: UInt32, ntpTime: NTPTimestamp, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32,
        blocks: [ReportBlock] = []
    ) {
        self.ssrc = ssrc
        self.ntpTime = ntpTime
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
        self.blocks = blocks
    }

    init?(reading reader: inout ByteReader, count: Int) {
        guard let ssrc = reader.readUInt32(), let time = reader.readUInt64(), let timestamp = reader.readUInt32(),
            let packets = reader.readUInt32(), let octets = reader.readUInt32(),
            let blocks = ReportBlock.readAll(from: &reader, count: count)
        else { return nil }
        self.init(
            ssrc: ssrc, ntpTime: NTPTimestamp(value: time), rtpTimestamp: timestamp, packetCount: packets,
            octetCount: octets, blocks: blocks)
    }

    func writeBody(into packet: inout [UInt8]) {
        packet.append(uint32: ssrc)
        packet.append(uint64: ntpTime.value)
        packet.append(uint32: rtpTimestamp)
        packet.append(uint32: packetCount)
        packet.append(uint32: octetCount)
        for block in blocks.prefix(RTCPPacket.maximumCount) { block.write(into: &packet) }
    }
}

/// A receiver report (RFC 3550 §6.4.2).
public struct ReceiverReport: Sendable, Hashable {
    /// Who reports.
    public var ssrc: UInt32
    /// At most 31.
    public var blocks: [ReportBlock]

    public init(ssrc: UInt32, blocks: [ReportBlock] = []) {
        self.ssrc = ssrc
        self.blocks = blocks
    }

    init?(reading reader: inout ByteReader, count: Int) {
        guard let ssrc = reader.readUInt32(), let blocks = ReportBlock.readAll(from: &reader, count: count) else {
            return nil
        }
        self.init(ssrc: ssrc, blocks: blocks)
    }

    func writeBody(into packet: inout [UInt8]) {
        packet.append(uint32: ssrc)
        for block in blocks.prefix(RTCPPacket.maximumCount) { block.write(into: &packet) }
    }
}

extension ReportBlock {
    /// `count` blocks; nil when the bytes end before. What follows them is a profile's extension, ignored.
    fileprivate static func readAll(from reader: inout ByteReader, count: Int) -> [ReportBlock]? {
        var blocks: [ReportBlock] = []
        blocks.reserveCapacity(count)
        for _ in 0..<count {
            guard let block = ReportBlock(reading: &reader) else { return nil }
            blocks.append(block)
        }
        return blocks
    }
}
