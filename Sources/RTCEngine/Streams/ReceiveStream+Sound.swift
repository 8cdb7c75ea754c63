import RTCWire

/// What a stream of sound carries beside its packets: earlier packets again, and telephone keys.
extension ReceiveStream {
    /// RFC 2198: the packet's own sound, and that of packets before it, which take the places of lost ones.
    mutating func receiveRedundant(_ header: RTPHeader, packet: RawSpan, at now: Instant) {
        let payload = header.payload(of: packet)
        var blocks = RedundantAudio.Reader(payload)
        redundantBlocks.removeAll(keepingCapacity: true)
        while let block = blocks.next() { redundantBlocks.append(block) }
        guard let primary = redundantBlocks.popLast(), let (format, clockRate) = sound(of: primary.payloadType) else {
            counters.otherDropped += 1
            receiveMedia(header, payload: payload, format: nil, clockRate: 48_000, at: now)
            return
        }
        var own = header
        own.payloadType = primary.payloadType
        counters.bytesReceived += UInt64(payload.byteCount - primary.range.count)
        guard
            var sequence = receiveMedia(
                own, payload: payload.extracting(primary.range), format: format, clockRate: clockRate,
                about: about(header, packet), at: now)
        else { return }
        // Blocks have no sequence numbers. The one that ends where the next begins is the packet before; where there is
        // silence between, or a block was left out, nothing can be told.
        counters.redundantBlocks += UInt64(redundantBlocks.count)
        for block in redundantBlocks { counters.redundantBytes += UInt64(block.range.count) }
        var begins = 0
        for block in redundantBlocks.reversed() {
            let data = payload.extracting(block.range)
            guard let (format, _) = sound(of: block.payloadType), let samples = format.samples(in: data),
                begins + samples == Int(block.timestampOffset)
            else { return }
            begins = Int(block.timestampOffset)
            sequence -= 1
            guard isMissing(sequence) else { continue }
            var earlier = own
            earlier.payloadType = block.payloadType
            earlier.timestamp = header.timestamp &- UInt32(block.timestampOffset)
            recover(earlier, sequence: sequence, payload: data, format: format, at: now)
        }
    }

    /// A telephone event takes the place of sound in the order of packets, and of a frame nothing.
    mutating func receiveEvent(_ header: RTPHeader, packet: RawSpan, clockRate: UInt32, at now: Instant) {
        let payload = header.payload(of: packet)
        guard receiveMedia(header, payload: payload, format: nil, clockRate: clockRate, at: now) != nil,
            let event = TelephoneEvent(payload)
        else { return }
        for tone in tones.receive(event, timestamp: header.timestamp, clockRate: clockRate) {
            outputs.append(.tone(tone))
        }
    }

    func sound(of payloadType: UInt8) -> (format: PayloadFormat, clockRate: UInt32)? {
        switch configuration.codecs[payloadType] {
        case .media(let format, let clockRate) where !format.isVideo: (format, clockRate)
        case .media, .retransmission, .redundancy, .telephoneEvent, nil: nil
        }
    }
}
