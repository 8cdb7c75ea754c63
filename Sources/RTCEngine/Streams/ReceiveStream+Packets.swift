public import RTCWire

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
    /// Of a packet of redundancy.
    var redundancy: RedundantSound?
    /// It is the first of those that the source has numbered anew.
    var startsAnew = false
    /// The one before it is in `ReceiveStream.confirmed`.
    var followsConfirmed = false
}

/// One that came before the packet in `ReceiveStream.passing`, and is believed because of it.
struct ConfirmedPacket: Sendable, Equatable {
    var passed: PassedPacket
    /// Of the whole packet.
    var bytes: [UInt8]
}

/// What a packet of redundancy carries (RFC 2198).
public struct RedundantSound: Sendable, Hashable {
    /// How the packet's own sound is packed, and that of earlier packets before it.
    public var format: PayloadFormat
    /// Where in the payload the packet's own sound, the primary encoding, begins: never 0.
    public var primaryOffset: UInt16
    /// How many earlier packets there are.
    public var earlierPackets: UInt8

    public init(format: PayloadFormat, primaryOffset: UInt16, earlierPackets: UInt8) {
        self.format = format
        self.primaryOffset = primaryOffset
        self.earlierPackets = earlierPackets
    }
}

extension ReceiveStream {
    /// Packets that nobody will ask for again are forgotten.
    private static let missingWindow: Int64 = 1_000

    /// Counts a packet, asks for those that are missing, and leaves it in `passing` unless it has come before.
    mutating func pass(_ header: RTPHeader, _ packet: RawSpan, _ codec: ReceiveCodec?, at now: Instant) {
        switch codec {
        case .retransmission(let original): passRetransmission(header, packet, payloadType: original)
        case .media(let format, let rate): passMedia(header, packet, format: format, clockRate: rate, at: now)
        case .redundancy: passRedundant(header, packet, at: now)
        // Their clock is the sound's.
        case .telephoneEvent: passMedia(header, packet, format: nil, clockRate: nil, at: now)
        case .none:
            counters.otherDropped += 1
            _ = register(header, payloadSize: header.payloadRange.count, clockRate: nil, at: now)
        }
        if let highest = record.highest { nacks.remove(before: highest - Self.missingWindow) }
        // Nobody here waits for what cannot be had.
        givenUp.removeAll(keepingCapacity: true)
    }

    /// RFC 2198: the blocks stay as they are. Where they are not all of one negotiated format of sound, nobody can be
    /// sent them: such a packet is counted, and is nothing else.
    private mutating func passRedundant(_ header: RTPHeader, _ packet: RawSpan, at now: Instant) {
        let contents = RedundantAudio.contents(of: header.payload(of: packet))
        guard let contents, let (format, clockRate) = sound(of: contents.payloadType) else {
            counters.otherDropped += 1
            return passMedia(header, packet, format: nil, clockRate: nil, at: now)
        }
        passMedia(
            header, packet, format: nil, clockRate: clockRate, redundancy: RedundantSound(format, contents), at: now)
    }

    private mutating func passMedia(
        _ header: RTPHeader, _ packet: RawSpan, format: PayloadFormat?, clockRate: UInt32?,
        redundancy: RedundantSound? = nil, at now: Instant
    ) {
        guard
            let sequence = register(
                header, payloadSize: header.payloadRange.count, clockRate: clockRate, at: now)
        else { return }
        hand(
            PassedPacket(
                header: header, sequence: sequence, format: format, payload: header.payloadRange,
                isRetransmission: false, redundancy: redundancy), packet)
    }

    private mutating func passRetransmission(_ header: RTPHeader, _ packet: RawSpan, payloadType: UInt8) {
        guard let sequence = unwrap(header, header.payload(of: packet)) else {
            counters.retransmissionsIgnored += 1
            return
        }
        var original = header
        original.payloadType = payloadType
        original.ssrc = ssrc
        original.sequenceNumber = UInt16(truncatingIfNeeded: sequence)
        let payload = header.payloadRange.lowerBound + 2..<header.payloadRange.upperBound
        var format: PayloadFormat?
        var redundancy: RedundantSound?
        switch configuration.codecs[payloadType] {
        case .media(let known, _): format = known
        case .redundancy:
            redundancy = RedundantAudio.contents(of: packet.extracting(payload)).flatMap { contents in
                sound(of: contents.payloadType).map { RedundantSound($0.format, contents) }
            }
        case .retransmission, .telephoneEvent, nil: break
        }
        hand(
            PassedPacket(
                header: original, sequence: sequence, format: format, payload: payload, isRetransmission: true,
                redundancy: redundancy), packet)
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
                keyFrameRequester.fulfilled()
            }
        }
        if passed.header.marker { counters.framesReceived += 1 }
        passing = passed
        if startsAnew {
            passing?.startsAnew = true
            startsAnew = false
        }
        if confirmed != nil { passing?.followsConfirmed = true }
    }
}

extension RedundantSound {
    fileprivate init(_ format: PayloadFormat, _ contents: RedundantAudio.Contents) {
        // A datagram, and so a payload, is shorter than 65,536 bytes.
        self.init(
            format: format, primaryOffset: UInt16(clamping: contents.primaryOffset),
            earlierPackets: UInt8(clamping: contents.earlierBlocks))
    }
}
