public import RTCWire

/// What the receiver tells: losses, wishes for key frames, reports.
extension SendStream {
    /// Takes one packet of RTCP; what is not about this stream is ignored.
    ///
    /// - Parameter repeatLimit: of pictures' packets no more than this are sent again.
    public mutating func receive(
        _ packet: RTCPPacket, repeatLimit: Int = .max, into queue: inout PacketQueue, at now: Instant
    ) {
        switch packet {
        case .senderReport(let report): receive(report.blocks, at: now)
        case .receiverReport(let report): receive(report.blocks, at: now)
        case .nack(let nack):
            guard nack.mediaSSRC == ssrc else { return }
            counters.nackCount += 1
            // RFC 4585 §6.2.1 names no limit; more than the history holds is not looked at.
            var left = configuration.historyCount
            if configuration.format.isVideo { left = min(left, repeatLimit) }
            for entry in nack.entries where left > 0 { resend(entry, limit: &left, into: &queue, at: now) }
        case .pictureLossIndication(let indication):
            guard indication.mediaSSRC == ssrc else { return }
            counters.pliCount += 1
            keyFrameWanted(at: now)
        case .fullIntraRequest(let request):
            for entry in request.entries where entry.ssrc == ssrc {
                counters.firCount += 1
                // RFC 5104 §4.3.1.2: the same number is a repetition of the same command.
                guard keyFrameRequestLimiter.isNew(fullIntraRequest: entry.sequenceNumber, from: request.senderSSRC)
                else {
                    continue
                }
                keyFrameWanted(at: now)
            }
        case .sourceDescription, .goodbye, .receiverEstimatedBitrate, .transportFeedback:
            return
        }
    }

    /// What a receiver of a source has told.
    struct SourceStanding {
        var roundTrip: Interval?
    }

    /// As its reports have it; `mutating` likewise.
    mutating func roundTrip() -> Interval? { remote.roundTripTime }

    /// Nil when the source is another. `mutating`, for a look through an optional would copy the stream.
    mutating func standing(of source: UInt32) -> SourceStanding? {
        source == ssrc ? SourceStanding(roundTrip: remote.roundTripTime) : nil
    }

    private mutating func keyFrameWanted(at now: Instant) {
        guard configuration.format.isVideo else { return }
        if keyFrameRequestLimiter.wanted(at: now) { outputs.append(.keyFrameRequested) }
    }

    // MARK: Retransmission

    private mutating func resend(
        _ entry: GenericNACK.Entry, limit: inout Int, into queue: inout PacketQueue, at now: Instant
    ) {
        var number = entry.packetID
        // The first bit is the packet's own.
        var mask = UInt32(entry.followingLost) << 1 | 1
        while mask != 0, limit > 0 {
            if mask & 1 != 0 {
                resend(number, into: &queue, at: now)
                limit -= 1
            }
            mask >>= 1
            number &+= 1
        }
    }

    private mutating func resend(_ number: UInt16, into queue: inout PacketQueue, at now: Instant) {
        // The owner has forwarded packets, once for all who get them.
        if configuration.unit == .packets { return outputs.append(.packetRequested(number)) }
        // Without a measured round trip a short one is assumed: better one packet twice than one too late.
        let roundTrip = remote.roundTripTime ?? .milliseconds(20)
        switch history.request(number, roundTrip: roundTrip, at: now) {
        case .underway: counters.retransmissionsUnderway += 1
        case .unknown: counters.retransmissionsUnknown += 1
        case .resend(let place): resend(history.packet(at: place), into: &queue)
        }
    }

    private mutating func resend(_ original: [UInt8], into queue: inout PacketQueue) {
        guard let header = try? RTPHeader(parsing: original.span.bytes) else { return }
        var packet = QueuedPacket(kind: .rtp, bytes: queue.makeBuffer())
        if let retransmission = configuration.retransmission {
            RTXPayload.write(
                original.span.bytes, header: header, ssrc: retransmission.ssrc,
                payloadType: retransmission.payloadType, sequenceNumber: retransmissionSequenceNumber,
                into: &packet.bytes)
            retransmissionSequenceNumber &+= 1
            renameLayer(in: &packet.bytes, header)
        } else {
            packet.bytes.append(contentsOf: original)
            packet.isRepeat = true
        }
        packet.priority = configuration.format.isVideo ? .retransmission : .audio
        // Extensions stand where they stood: the header was copied whole.
        packet.places.transportSequence =
            header.extensionElement(
                configuration.extensions.transportSequence, in: original.span.bytes)?.lowerBound
        packet.places.absoluteSendTime =
            header.extensionElement(
                configuration.extensions.absoluteSendTime, in: original.span.bytes)?.lowerBound
        counters.packetResent(
            header: header.headerSize + (configuration.retransmission == nil ? 0 : RTXPayload.overhead),
            payload: header.payloadRange.count, countsAsMedia: configuration.retransmission == nil)
        queue.append(packet)
    }

    /// RFC 8852 §3.2: a retransmission names its layer by the repaired stream's element. A receiver takes one with the
    /// media's element for the layer itself, so without the other it names none.
    func renameLayer(in packet: inout [UInt8], _ header: RTPHeader) {
        guard configuration.rid != nil,
            let range = header.extensionElement(configuration.extensions.rid, in: packet.span.bytes)
        else { return }
        // The element's head is one byte with identifier and length, or two.
        let isShort = header.extensionProfile == 0xbede
        let start = range.lowerBound - (isShort ? 1 : 2)
        switch configuration.extensions.repairedRID {
        case .some(let repaired) where isShort && repaired < 15: packet[start] = repaired << 4 | packet[start] & 0x0f
        case .some(let repaired) where !isShort: packet[start] = repaired
        // RFC 8285 §4.2: bytes of zero between elements are padding.
        default: for place in start..<range.upperBound { packet[place] = 0 }
        }
    }

    // MARK: Reports

    private mutating func receive(_ blocks: [ReportBlock], at now: Instant) {
        for block in blocks where block.ssrc == ssrc {
            remote.receive(block, clockRate: configuration.clockRate, ntp: clock.ntp(at: now), at: now)
        }
    }
}
