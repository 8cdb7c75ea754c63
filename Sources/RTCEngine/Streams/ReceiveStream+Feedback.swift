public import RTCWire

/// What the sender is told, and what it tells: losses, wishes for key frames, reports.
extension ReceiveStream {
    // MARK: Feedback

    /// Asks the sender for a key frame, as soon as the throttle allows: a new consumer of the frames wants to begin.
    public mutating func requestKeyFrame(into queue: inout PacketQueue, at now: Instant) {
        guard isVideo else { return }
        keyFrameRequester.wantForApplication(at: now)
        sendFeedback(into: &queue, at: now)
    }

    mutating func sendFeedback(into queue: inout PacketQueue, at now: Instant) {
        if let wake = nacks.nextWake, now >= wake {
            due.removeAll(keepingCapacity: true)
            if let end = asksOnceUntil, end <= now { asksOnceUntil = nil }
            nacks.collect(
                due: &due, givenUp: &givenUp, roundTrip: roundTripTime, once: asksOnceUntil != nil, at: now)
            if !due.isEmpty {
                counters.nackCount += 1
                send(
                    .nack(GenericNACK(senderSSRC: configuration.localSSRC, mediaSSRC: ssrc, missing: due)),
                    into: &queue)
            }
            if !givenUp.isEmpty { advance(at: now) }
        }
        guard keyFrameRequester.isDue(roundTrip: roundTripTime, at: now) else { return }
        if configuration.usesPLI {
            counters.pliCount += 1
            send(
                .pictureLossIndication(
                    PictureLossIndication(senderSSRC: configuration.localSSRC, mediaSSRC: ssrc)), into: &queue)
        } else if configuration.usesFIR {
            counters.firCount += 1
            // RFC 5104 §4.3.1.1: each new command counts one up.
            fullIntraRequestNumber &+= 1
            let entry = FullIntraRequest.Entry(ssrc: ssrc, sequenceNumber: fullIntraRequestNumber)
            send(
                .fullIntraRequest(FullIntraRequest(senderSSRC: configuration.localSSRC, entries: [entry])),
                into: &queue)
        }
    }

    private func send(_ packet: RTCPPacket, into queue: inout PacketQueue) {
        queue.appendRTCP { bytes in
            if !configuration.allowsReducedSizeRTCP {
                RTCPPacket.writeEmptyReport(
                    of: configuration.localSSRC, cname: configuration.cname, into: &bytes)
            }
            packet.write(into: &bytes)
        }
    }

    // MARK: Reports

    /// Takes one packet of RTCP; what is not about this stream is ignored.
    public mutating func receive(_ packet: RTCPPacket, at now: Instant) {
        switch packet {
        case .senderReport(let report):
            guard report.ssrc == ssrc else { return }
            remote.receive(report, at: now)
        case .goodbye(let goodbye):
            guard goodbye.ssrcs.contains(ssrc), !hasEnded else { return }
            hasEnded = true
            outputs.append(.ended)
        case .receiverReport, .sourceDescription, .nack, .pictureLossIndication, .fullIntraRequest,
            .receiverEstimatedBitrate, .transportFeedback:
            return
        }
    }

    /// The block about this stream for the next report; nil before the first packet. The fraction lost counts from
    /// one call to the next, so each block must be sent.
    public mutating func reportBlock(at now: Instant) -> ReportBlock? {
        guard record.highest != nil, !hasEnded else { return nil }
        let echo = remote.echo(at: now)
        return ReportBlock(
            ssrc: ssrc, fractionLost: record.takeFractionLost(),
            cumulativeLost: Int32(clamping: record.packetsLost), highestSequenceNumber: record.extendedHighest,
            jitter: record.jitter, lastSenderReport: echo.lastReport, delaySinceLastSenderReport: echo.delay)
    }
}
