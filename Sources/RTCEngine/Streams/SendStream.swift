public import RTCWire

/// One outgoing media stream: frames in, RTP packets out, and the answers to the receiver's feedback.
///
/// A frame's packets go into the queue at once; pacing is the owner's (`Pacer`). Sequence numbers and timestamps begin
/// at random (RFC 3550 §5.1).
public struct SendStream: Sendable {
    public internal(set) var configuration: SendStreamConfiguration
    var form: HeaderExtensionForm
    /// Bytes of a packet before its payload, at most.
    var headerRoom: Int
    var midPacketsLeft: Int
    /// The frame sent last, which relates the media clock to the engine's.
    var lastFrame: (timestamp: UInt32, at: Instant)?
    var counters = SendCounters()

    let clock: WallClock
    var packetizer: Packetizer
    private var payloads = PayloadList()
    var redundancy = RedundancyEncoder()
    var tones = ToneSender()
    var dependencies = FrameDependencies()
    private(set) var sequenceNumber: UInt16
    let timestampOffset: UInt32
    /// Of forwarded media, what their sender says of its clock, for reports.
    var captured: (timestamp: UInt32, at: Instant)?

    var retransmissionSequenceNumber: UInt16
    /// How far back from the newest packet the last one went that was sent again to probe the path.
    var paddingOffset: UInt16 = 0
    var history: SendHistory
    var keyFrameRequestLimiter: KeyFrameRequestLimiter
    var remote = RemoteReception()
    var outputs = FIFO<SendStreamOutput>()

    /// Packets that carry the media section's name: plenty to reach the receiver's demultiplexer (RFC 9143 §9.2)
    /// even when the path loses some.
    static let midPacketCount = 100

    /// - Parameter clock: relates the engine's time to the wall clock of sender reports.
    public init(configuration: SendStreamConfiguration, clock: WallClock, random: EngineRandom) {
        var random = random
        self.configuration = configuration
        self.clock = clock
        // In the lower half: when the first packets are lost and the number wraps at once, the receiver could not tell
        // that SRTP's rollover counter has moved (RFC 3711 §3.3.1).
        sequenceNumber = UInt16(truncatingIfNeeded: random.next() >> 24) & 0x7fff
        retransmissionSequenceNumber = UInt16(truncatingIfNeeded: random.next() >> 24) & 0x7fff
        timestampOffset = UInt32(truncatingIfNeeded: random.next() >> 24)
        midPacketsLeft = configuration.mid == nil ? 0 : Self.midPacketCount
        history = Self.history(configuration)
        keyFrameRequestLimiter = KeyFrameRequestLimiter(interval: configuration.keyFrameInterval)

        form = Self.form(configuration)
        headerRoom = Self.headerRoom(configuration)
        packetizer = Self.packetizer(configuration, random: &random)
    }

    static func history(_ configuration: SendStreamConfiguration) -> SendHistory {
        SendHistory(
            count: configuration.unit == .packets ? 0 : configuration.historyCount,
            duration: configuration.historyDuration)
    }

    static func form(_ configuration: SendStreamConfiguration) -> HeaderExtensionForm {
        HeaderExtensionWriter.form(for: elements(configuration))
    }

    /// With the two bytes that RTX adds (RFC 4588 §4).
    static func headerRoom(_ configuration: SendStreamConfiguration) -> Int {
        elements(configuration).reduce(RTPHeader.fixedSize + HeaderExtensionWriter.blockOverhead + 2) {
            $0 + HeaderExtensionWriter.elementOverhead + $1.length
        }
    }

    /// - Parameter firstPictureID: of VP8 and VP9; a random one if it is nil.
    static func packetizer(
        _ configuration: SendStreamConfiguration, firstPictureID: UInt16? = nil, random: inout EngineRandom
    ) -> Packetizer {
        let elements = elements(configuration)
        // Room for the header, the block of extensions padded to words, and the two bytes that RTX adds.
        let extensionSize = elements.isEmpty ? 0 : 4 + (elements.reduce(0) { $0 + 2 + $1.length } + 3) / 4 * 4
        return Packetizer(
            format: configuration.format,
            maximumPayloadSize: configuration.maximumPacketSize - RTPHeader.fixedSize - extensionSize - 2,
            firstPictureID: firstPictureID ?? UInt16(truncatingIfNeeded: random.next() >> 24))
    }

    private static func elements(_ configuration: SendStreamConfiguration) -> [(id: UInt8, length: Int)] {
        var elements: [(id: UInt8, length: Int)] = []
        if let id = configuration.extensions.mid, let mid = configuration.mid { elements.append((id, mid.utf8.count)) }
        if let id = configuration.extensions.rid, let rid = configuration.rid { elements.append((id, rid.utf8.count)) }
        if let id = configuration.extensions.absoluteSendTime { elements.append((id, AbsoluteSendTime.size)) }
        if let id = configuration.extensions.transportSequence { elements.append((id, 2)) }
        if let id = configuration.extensions.dependencyDescriptor {
            elements.append((id, FrameDependencies.maximumSize))
        }
        return elements + PacketMetadata.sizes(configuration.extensions)
    }

    public var ssrc: UInt32 { configuration.ssrc }

    // MARK: Frames

    /// Cuts a frame into packets and queues them. A frame of another format than the stream's is refused: false.
    @discardableResult
    public mutating func send(_ frame: EncodedFrame, into queue: inout PacketQueue, at now: Instant) -> Bool {
        guard frame.format == configuration.format else { return false }
        // A telephone key takes the place of sound.
        guard !tones.isSounding else { return false }
        payloads.removeAll()
        packetizer.packetize(
            frame.payload.span.bytes, isSealed: frame.isSealed, isKeyFrame: frame.isKeyFrame, into: &payloads)
        guard payloads.count > 0 else { return false }
        let timestamp = frame.timestamp &+ timestampOffset
        var payloadType = configuration.payloadType
        if let wanted = configuration.redundancy, payloads.count == 1 {
            redundancy.wrap(
                &payloads, payloadType: payloadType, timestamp: timestamp, depth: wanted.depth,
                limit: packetizer.maximumPayloadSize)
            payloadType = wanted.payloadType
        }
        let isVideo = configuration.format.isVideo
        if isVideo { dependencies.begin(isKeyFrame: frame.isKeyFrame) }
        for index in 0..<payloads.count {
            // Video marks the last packet of a picture; Opus would mark the first after silence (RFC 7587 §4.1),
            // which nothing here can tell.
            let isLast = index == payloads.count - 1
            sendPayload(
                payloads.range(index), payloadType: payloadType, marker: isLast && isVideo, timestamp: timestamp,
                metadata: frame.metadata.packet, place: FramePlace(isFirst: index == 0, isLast: isLast), into: &queue,
                at: now)
        }
        lastFrame = (timestamp, now)
        counters.framesSent += 1
        if frame.isKeyFrame {
            counters.keyFramesSent += 1
            keyFrameRequestLimiter.keyFrameSent()
        }
        return true
    }

    private mutating func sendPayload(
        _ payload: Range<Int>, payloadType: UInt8, marker: Bool, timestamp: UInt32,
        metadata: PacketMetadata = PacketMetadata(), place: FramePlace = .whole, into queue: inout PacketQueue,
        at now: Instant
    ) {
        let header = RTPHeader(
            marker: marker, payloadType: payloadType, sequenceNumber: sequenceNumber,
            timestamp: timestamp, ssrc: configuration.ssrc)
        var packet = QueuedPacket(kind: .rtp, bytes: queue.makeBuffer())
        let dependencies = configuration.format.isVideo ? dependencies : nil
        packet.places = writeHeader(header, form, into: &packet.bytes) { ids, writer, bytes in
            metadata.write(ids, with: writer, isLastPacket: place.isLast, into: &bytes)
            guard let id = ids.dependencyDescriptor, let dependencies else { return }
            dependencies.write(id, isFirst: place.isFirst, isLast: place.isLast, with: writer, into: &bytes)
        }
        packet.priority = configuration.format.isVideo ? .video : .audio
        let headerSize = packet.bytes.count
        packet.bytes.append(contentsOf: payloads.bytes.span.bytes.extracting(payload))
        history.insert(packet.bytes.span.bytes, sequenceNumber: sequenceNumber, at: now)
        counters.packetSent(header: headerSize, payload: payload.count)
        queue.append(consume packet)
        sequenceNumber &+= 1
    }

    /// Sends what telephone events are due.
    mutating func sendTones(into queue: inout PacketQueue, at now: Instant) {
        guard let payloadType = configuration.telephoneEventType else { return }
        // Without a frame the media clock begins with the first key.
        if lastFrame == nil, tones.nextWake != nil { lastFrame = (timestampOffset, now) }
        while let packet = tones.next(
            at: now, timestamp: mediaTimestamp(at: now), clockRate: configuration.clockRate)
        {
            payloads.removeAll()
            packet.event.write(into: &payloads.bytes)
            payloads.endPayload()
            sendPayload(
                payloads.range(0), payloadType: payloadType, marker: packet.marker, timestamp: packet.timestamp,
                into: &queue, at: now)
        }
    }

    /// What the media clock says, carried on from the last frame.
    private func mediaTimestamp(at now: Instant) -> UInt32 {
        guard let known = captured ?? lastFrame else { return timestampOffset }
        let elapsed = (now - known.at).ticks(clockRate: configuration.clockRate)
        return known.timestamp &+ UInt32(truncatingIfNeeded: elapsed)
    }

    /// Appends a packet's header: `header`, the elements that speak of the way to the peer, then `media`'s.
    mutating func writeHeader(
        _ header: RTPHeader, _ form: HeaderExtensionForm, into bytes: inout [UInt8],
        media: (HeaderExtensionIDs, HeaderExtensionWriter, inout OutputSpan<UInt8>) -> Void = { _, _, _ in }
    ) -> PacketPlaces {
        var places = PacketPlaces()
        bytes.append(addingCapacity: headerRoom) { packet in
            header.write(into: &packet)
            places = writeExtensions(form, into: &packet, media: media)
        }
        return places
    }

    /// The elements behind the header of the packet that begins where `packet` does.
    mutating func writeExtensions(
        _ form: HeaderExtensionForm, into packet: inout OutputSpan<UInt8>,
        media: (HeaderExtensionIDs, HeaderExtensionWriter, inout OutputSpan<UInt8>) -> Void
    ) -> PacketPlaces {
        var places = PacketPlaces()
        let ids = configuration.extensions
        let writer = HeaderExtensionWriter(form: form, in: &packet)
        if let id = ids.absoluteSendTime {
            places.absoluteSendTime = writer.begin(id, length: AbsoluteSendTime.size, in: &packet)
            if places.absoluteSendTime != nil { packet.append(zeros: AbsoluteSendTime.size) }
        }
        if let id = ids.transportSequence {
            places.transportSequence = writer.begin(id, length: 2, in: &packet)
            if places.transportSequence != nil { packet.append(uint16: 0) }
        }
        if let id = ids.mid, midPacketsLeft > 0 || configuration.rid != nil, let mid = configuration.mid {
            writer.append(id, text: mid, in: &packet)
            midPacketsLeft = max(midPacketsLeft - 1, 0)
        }
        if let id = ids.rid, let rid = configuration.rid { writer.append(id, text: rid, in: &packet) }
        media(ids, writer, &packet)
        writer.finish(in: &packet)
        return places
    }

    // MARK: Reports

    /// A sender report for `now`; nil before the first packet.
    public mutating func senderReport(at now: Instant) -> SenderReport? {
        guard lastFrame != nil else { return nil }
        counters.reportsSent += 1
        return SenderReport(
            ssrc: configuration.ssrc, ntpTime: clock.ntp(at: now),
            // RFC 3550 §6.4.1: both times are of this moment.
            rtpTimestamp: mediaTimestamp(at: now),
            packetCount: UInt32(truncatingIfNeeded: counters.packetsSent),
            octetCount: UInt32(truncatingIfNeeded: counters.bytesSent))
    }

    /// The chunk that names this stream's participant.
    public var sourceDescription: SourceDescription.Chunk {
        SourceDescription.Chunk(ssrc: configuration.ssrc, cname: configuration.cname)
    }

    // MARK: Time and outputs

    /// When `tick` is next wanted: a throttled request for a key frame or a packet of a telephone event falls due.
    public var nextWake: Instant? {
        guard let tone = tones.nextWake else { return keyFrameRequestLimiter.nextWake }
        return keyFrameRequestLimiter.nextWake.map { min($0, tone) } ?? tone
    }

    /// Does what has fallen due, but for packets.
    public mutating func tick(at now: Instant) {
        if keyFrameRequestLimiter.tick(at: now) { outputs.append(.keyFrameRequested) }
    }

    /// Does what has fallen due.
    public mutating func tick(into queue: inout PacketQueue, at now: Instant) {
        tick(at: now)
        sendTones(into: &queue, at: now)
    }

    /// The next thing to tell; nil when there is none.
    public mutating func pollOutput() -> SendStreamOutput? { outputs.popFirst() }
}

/// Where a packet stands in its frame.
struct FramePlace: Sendable {
    var isFirst: Bool
    var isLast: Bool

    static let whole = FramePlace(isFirst: true, isLast: true)
}
