internal import RTCWire

/// What comes when there is no association any more, or not yet (RFC 9260 §8.4: packets "out of the blue"). The peer is
/// told, so that it does not find out by its own time-outs.
extension SCTPAssociation {
    /// An answer begets no answer; this is against a peer that sends without end.
    private static let pause = Interval.milliseconds(100)

    /// A packet whose checksum and ports are right.
    mutating func answerAfterEnd(_ packet: RawSpan) {
        if let answeredAt, now - answeredAt < Self.pause { return }
        guard var reader = SCTPPacketReader(packet), let first = reader.firstType else { return }
        var initiateTag: UInt32?
        while let chunk = reader.next() {
            // §8.4 2.
            if chunk.type == SCTPChunkType.abort.rawValue { return }
            if chunk.type == SCTPChunkType.initiation.rawValue { initiateTag = SCTPInitiation(chunk)?.initiateTag }
        }
        let tag = reader.header.verificationTag
        switch SCTPChunkType(rawValue: first) {
        case .initiation:
            // §8.4 3: under the tag that the INIT brought.
            guard let initiateTag, initiateTag != 0 else { return }
            sendAlone(tag: initiateTag) { $0.appendSCTPChunk(.abort) }
        case .shutdownAcknowledgment: answerShutdownAcknowledgment(tag: tag)
        // §8.4 6, 7.
        case .shutdownComplete, .cookieAcknowledgment, .error: return
        case .data, .initiationAcknowledgment, .selectiveAcknowledgment, .heartbeat, .heartbeatAcknowledgment, .abort,
            .shutdown, .cookieEcho, .interleavedData, .reconfiguration, .forwardTSN, .interleavedForwardTSN, nil:
            // After a shutdown the peer is over too, or repeats SHUTDOWN ACK: this was overtaken, and an ABORT would
            // make a failure of a good end.
            if state == .closed(.shutdown) { return }
            // §8.4 8.
            sendAlone(tag: tag) { $0.appendSCTPChunk(.abort, flags: SCTPChunkFlag.reflectedTag) }
        }
        answeredAt = now
    }

    /// §8.4 5: our SHUTDOWN COMPLETE was lost, and the peer asks again; §8.5.1 E: or it ends an association that we
    /// have forgotten and begin anew.
    mutating func answerShutdownAcknowledgment(tag: UInt32) {
        sendAlone(tag: tag) { $0.appendSCTPChunk(.shutdownComplete, flags: SCTPChunkFlag.reflectedTag) }
    }
}
