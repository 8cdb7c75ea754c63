import RTCWire

/// A packet of a stream whose packets are handed out as they come (`MediaUnit.packets`).
struct PassedPacket: Sendable, Equatable {
    /// The packet's own, with the payload type and number of what is repeated where it came as a retransmission. Its
    /// places are those in the packet as it came.
    var header: RTPHeader
    /// Unwrapped.
    var sequence: Int64
    /// How the media are packed; nil for redundancy, telephone events and what was not negotiated.
    var format: PayloadFormat?
    /// The media's bytes, without padding and without what RTX puts before them.
    var payload: Range<Int>
    var isRetransmission: Bool
}

extension ReceiveStream {
    /// Packets that nobody will ask for again are forgotten.
    private static let missingWindow: Int64 = 1_000

    /// Counts a packet, asks for those that are missing, and leaves it in `passing` unless it has come before.
    mutating func pass(_ header: RTPHeader, _ packet: RawSpan, _ codec: ReceiveCodec?, at now: Instant) {
        switch codec {
        case .retransmission(let original): passRetransmission(header, packet, payloadType: original, at: now)
        case .media(let format, let rate): passMedia(header, packet, format: format, clockRate: rate, at: now)
        // Sound in other wrappings: their clock is the sound's.
        case .redundancy, .telephoneEvent: passMedia(header, packet, format: nil, clockRate: nil, at: now)
        case .none:
            counters.otherDropped += 1
            _ = register(header, payloadSize: header.payloadRange.count, clockRate: nil, at: now)
        }
        if let highest = record.highest { nacks.remove(before: highest - Self.missingWindow) }
        // Nobody here waits for what cannot be had.
        givenUp.removeAll(keepingCapacity: true)
    }

    private mutating func passMedia(
        _ header: RTPHeader, _ packet: RawSpan, format: PayloadFormat?, clockRate: UInt32?, at now: Instant
    ) {
        guard
            let sequence = register(
                header, payloadSize: header.payloadRange.count, clockRate: clockRate, at: now)
        else { return }
        hand(
            PassedPacket(
                header: header, sequence: sequence, format: format, payload: header.payloadRange,
                isRetransmission: false), packet)
    }

    private mutating func passRetransmission(
        _ header: RTPHeader, _ packet: RawSpan, payloadType: UInt8, at now: Instant
    ) {
        guard let sequence = unwrap(header, header.payload(of: packet), at: now) else {
            counters.retransmissionsIgnored += 1
            return
        }
        var original = header
        original.payloadType = payloadType
        original.ssrc = ssrc
        original.sequenceNumber = UInt16(truncatingIfNeeded: sequence)
        var format: PayloadFormat?
        if case .media(let known, _) = configuration.codecs[payloadType] { format = known }
        hand(
            PassedPacket(
                header: original, sequence: sequence, format: format,
                payload: header.payloadRange.lowerBound + 2..<header.payloadRange.upperBound, isRetransmission: true),
            packet)
    }

    private mutating func hand(_ passed: PassedPacket, _ packet: RawSpan) {
        guard self.passed.insert(passed.sequence) else {
            counters.duplicatesDropped += 1
            return
        }
        // Padding is the sender's own business: it fills the path to us, not the ones behind us. Whoever numbers the
        // packets anew has to know of it all the same.
        if let format = passed.format, format.isVideo, !passed.payload.isEmpty {
            let payload = packet.extracting(passed.payload)
            if depacketizers[depacketizerIndex(format)].startsKeyFrame(payload) {
                counters.keyFramesReceived += 1
                wish.fulfilled()
            }
        }
        if passed.header.marker { counters.framesReceived += 1 }
        passing = passed
    }
}
