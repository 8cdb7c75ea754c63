internal import RTCWire

/// What goes into a packet (RFC 9260 §6.10): control chunks first, then DATA.
extension SCTPAssociation {
    /// The next packet, if there is anything to send.
    mutating func makePacket() -> [UInt8]? {
        guard let peer, state.isLive else { return nil }
        beginResets()
        proceedShutdown()
        guard hasSomethingToSend else { return nil }
        var packet: [UInt8] = []
        packet.reserveCapacity(configuration.maximumPacketSize)
        SCTPCommonHeader(
            sourcePort: configuration.localPort, destinationPort: configuration.remotePort, verificationTag: peer.tag
        ).write(into: &packet)
        let start = packet.count
        writeCookieAcknowledgment(into: &packet)
        // §6.2: an acknowledgment goes along with whatever is sent.
        if acknowledgments.mayGoAlong { writeAcknowledgment(into: &packet) }
        writeShutdown(into: &packet)
        while let chunk = control.first, packet.count + chunk.count <= configuration.maximumPacketSize {
            packet.append(contentsOf: chunk)
            control.removeFirst(1)
        }
        writeForwardTSN(into: &packet)
        writeResetRequest(into: &packet)
        writeData(into: &packet)
        // All that there was may have been given up on the way; the peer has to hear of it.
        if packet.count == start { writeForwardTSN(into: &packet) }
        guard packet.count > start else { return nil }
        // RFC 9653 §5.2: DTLS protects the packet, and the peer has said that this is enough.
        if !peer.features.contains(.zeroChecksum) { SCTPChecksum.seal(&packet) }
        count(packet)
        return packet
    }

    private var hasSomethingToSend: Bool {
        cookieAcknowledgmentIsDue || acknowledgments.isDue || !control.isEmpty || shutdownIsDue || forwardIsDue
            || outgoingResets.isDue || hasDataToWrite
    }

    /// §5.1 D: it may have company, and has to be the first chunk.
    private mutating func writeCookieAcknowledgment(into packet: inout [UInt8]) {
        guard cookieAcknowledgmentIsDue else { return }
        cookieAcknowledgmentIsDue = false
        packet.appendSCTPChunk(.cookieAcknowledgment)
    }

    /// A chunk for the next packet. Answers to a flood are dropped: the peer has to ask again anyway.
    mutating func queueControl(_ type: SCTPChunkType, flags: UInt8 = 0, value: [UInt8] = []) {
        guard control.count < 64 else { return }
        var chunk: [UInt8] = []
        chunk.appendSCTPChunk(type, flags: flags, value: value)
        // Such as the echo of a HEARTBEAT larger than our packets: it would hold up what is behind it for ever.
        guard chunk.count <= configuration.maximumPacketSize - SCTPCommonHeader.size else { return }
        control.append(chunk)
    }

    /// A packet of the handshake's or of the end's, which waits for nothing and always has its checksum.
    mutating func sendAlone(tag: UInt32, _ write: (inout [UInt8]) -> Void) {
        var packet: [UInt8] = []
        SCTPCommonHeader(
            sourcePort: configuration.localPort, destinationPort: configuration.remotePort, verificationTag: tag
        ).write(into: &packet)
        write(&packet)
        SCTPChecksum.seal(&packet)
        count(packet)
        outputs.append(.send(packet))
    }

    private mutating func count(_ packet: [UInt8]) {
        counters.packetsSent += 1
        counters.bytesSent += packet.count
    }

    private mutating func writeForwardTSN(into packet: inout [UInt8]) {
        guard forwardIsDue else { return }
        let entry = queue.isInterleaved ? 8 : 4
        let room = (configuration.maximumPacketSize - packet.count - 8) / entry
        // What little room a long SACK leaves is not worth a FORWARD TSN; it leaves in the next packet.
        guard room >= 16 else { return }
        forwardIsDue = false
        guard let forward = flight.forwardTSN(isInterleaved: queue.isInterleaved, maximumStreams: room) else { return }
        forward.write(into: &packet)
        forwardedTSN = forward.cumulativeTSN
        forwardedAt = now
        // RFC 3758 §3.5 C5.
        if timers.retransmission == nil { timers.retransmission = now + roundTrip.timeout }
    }
}
