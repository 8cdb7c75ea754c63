import RTCWire

/// Packets that only fill: probes need bytes when the media have none.
extension SendStream {
    /// RFC 3550 §5.1: the last byte counts the padding, so 255 is the most; libwebrtc sends as much as this.
    private static let mostPadding = 224
    /// Newest packets that are sent again, in turn: if one of them is lost, the receiver has it before it asks.
    private static let usefulPackets: UInt16 = 16

    /// Whether `pad` has something to give, now or once the first packet is sent.
    var canPad: Bool { configuration.retransmission != nil }

    /// Queues at least `wanted` bytes on the stream of retransmissions: packets of the last moments again (RFC 4588),
    /// and where there are none, packets that hold nothing but padding.
    ///
    /// - Returns: bytes queued; 0 when retransmissions are not negotiated or nothing has been sent yet, so that the
    ///   receiver knows neither timestamps nor section.
    mutating func pad(_ wanted: Int, probe: Int32, into queue: inout PacketQueue, at now: Instant) -> Int {
        guard let retransmission = configuration.retransmission, let lastFrame else { return 0 }
        var made = 0
        while made < wanted {
            var packet = QueuedPacket(kind: .rtp, bytes: queue.makeBuffer())
            if !writeRecent(retransmission, into: &packet, at: now) {
                writePadding(retransmission, timestamp: lastFrame.timestamp, into: &packet)
            }
            retransmissionSequenceNumber &+= 1
            packet.priority = .padding
            packet.probe = probe
            made += packet.bytes.count
            queue.append(packet)
        }
        return made
    }

    private mutating func writeRecent(
        _ retransmission: SendStreamConfiguration.Retransmission, into packet: inout QueuedPacket, at now: Instant
    ) -> Bool {
        let number = sequenceNumber &- 1 &- paddingOffset
        paddingOffset = (paddingOffset + 1) % Self.usefulPackets
        guard let place = history.recent(number, at: now) else { return false }
        let original = history.packet(at: place)
        guard let header = try? RTPHeader(parsing: original.span.bytes) else { return false }
        RTXPayload.write(
            original.span.bytes, header: header, ssrc: retransmission.ssrc, payloadType: retransmission.payloadType,
            sequenceNumber: retransmissionSequenceNumber, into: &packet.bytes)
        renameLayer(in: &packet.bytes, header)
        let ids = configuration.extensions
        packet.places.transportSequence =
            header.extensionElement(ids.transportSequence, in: original.span.bytes)?.lowerBound
        packet.places.absoluteSendTime =
            header.extensionElement(ids.absoluteSendTime, in: original.span.bytes)?.lowerBound
        counters.packetResent(
            header: header.headerSize + RTXPayload.overhead, payload: header.payloadRange.count, countsAsMedia: false)
        return true
    }

    private mutating func writePadding(
        _ retransmission: SendStreamConfiguration.Retransmission, timestamp: UInt32, into packet: inout QueuedPacket
    ) {
        let header = RTPHeader(
            marker: false, payloadType: retransmission.payloadType, sequenceNumber: retransmissionSequenceNumber,
            timestamp: timestamp, ssrc: retransmission.ssrc)
        packet.places = writeHeader(header, form, into: &packet.bytes)
        if let header = try? RTPHeader(parsing: packet.bytes.span.bytes) { renameLayer(in: &packet.bytes, header) }
        // RFC 3550 §5.1: the P bit, and the count in the last byte.
        packet.bytes[0] |= 0x20
        packet.bytes.append(contentsOf: repeatElement(0, count: Self.mostPadding - 1))
        packet.bytes.append(UInt8(Self.mostPadding))
        counters.rtxPacketSent(header: packet.bytes.count, payload: 0)
    }
}
