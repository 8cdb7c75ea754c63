import RTCWire

/// Whose retransmissions are this stream's, and which packets they bring.
extension ReceiveStream {
    /// RFC 4588 §5.3: a source of retransmissions that a description names is the only one. One that packets have told
    /// goes when another is heard: it may have been somebody else's. libwebrtc probes the path before there are media
    /// with the payload type of retransmissions on SSRC 0, which is nobody's.
    func mayRepair(from source: UInt32) -> Bool {
        guard source != ssrc else { return false }
        if let named = configuration.retransmissionSSRC { return source == named }
        return source != 0 && source != formerRetransmissionSSRC
    }

    /// Takes the place of another source's stream, or of the one that was made for the same source before.
    /// Retransmissions of another source are not this one's, unless a description says so.
    mutating func takeOver(from former: ReceiveStream?) {
        switch former {
        case .some(let former) where former.ssrc != ssrc:
            formerRetransmissionSSRC = former.retransmissionSSRC ?? former.formerRetransmissionSSRC
        case .some(let former):
            formerRetransmissionSSRC = former.formerRetransmissionSSRC
            retransmissionSSRC = retransmissionSSRC ?? former.retransmissionSSRC
            goOn(with: former.counted)
        case .none: return
        }
    }

    /// The place of the packet that a retransmission brings; nil for one that brings nothing that was ever missed.
    mutating func unwrap(_ header: RTPHeader, _ payload: RawSpan) -> Int64? {
        _ = retransmissionRecord.receive(sequenceNumber: header.sequenceNumber)
        let size = max(payload.byteCount - RTXPayload.overhead, 0)
        counters.rtxPacketsReceived += 1
        counters.rtxBytesReceived += UInt64(size)
        counters.rtxHeaderBytesReceived += UInt64(
            header.headerSize + header.paddingCount + payload.byteCount - size)
        guard let number = RTXPayload.originalSequenceNumber(payload), let highest = record.highest else { return nil }
        let sequence = record.unwrapped(number)
        // One that was never missed is a probe for bandwidth made of old packets.
        guard sequence <= highest else { return nil }
        retransmissionSSRC = header.ssrc
        counters.retransmittedPacketsReceived += 1
        counters.retransmittedBytesReceived += UInt64(size)
        _ = nacks.received(sequence)
        return sequence
    }
}
