public import RTCWire

/// One incoming media stream: RTP packets in, frames out in order, and the feedback that the sender needs.
///
/// Memory is bounded by the configuration, whatever the peer sends: packets and bytes in the buffer, missing packets
/// that are asked for, and the size of a frame.
public struct ReceiveStream: Sendable {
    public internal(set) var configuration: ReceiveStreamConfiguration {
        didSet { recentCodec = nil }
    }
    /// What the payload type looked up last stands for.
    private var recentCodec: (payloadType: UInt8, codec: ReceiveCodec)?
    /// Of retransmissions: configured, or learnt from the last one that repeated a packet of this stream.
    public internal(set) var retransmissionSSRC: UInt32?
    /// Of retransmissions of the source whose place this one has taken: they may come later than its first packets, and
    /// are not to be learnt as this one's.
    var formerRetransmissionSSRC: UInt32?
    /// Tells how long to wait for a retransmission. The owner sets what its senders measured.
    public var roundTripTime = Interval.milliseconds(100)
    /// Until then no packet is asked for a second time; see `PeerMachine.askOnce`.
    public var asksOnceUntil: Instant?

    var record = ReceptionRecord()
    var retransmissionRecord = ReceptionRecord()
    var remote = RemoteSender()
    var counters = ReceiveCounters()
    private var buffer: JitterBuffer
    var nacks: NACKList
    var keyFrameRequester: KeyFrameRequester
    private var playout: PlayoutClock
    var fullIntraRequestNumber: UInt8 = 0
    private var descriptors = DependencyDescriptorReader()
    /// Of frames' first packets that are held, by their places: apart from these, for few have one.
    private var pendingDescriptors: [Int64: [UInt8]] = [:]
    /// What the last picture that said it was turned by.
    private var orientation: VideoOrientation?
    var tones = ToneReceiver()
    /// Where packets are passed on as they come: the one that has come, and which of the last ones have.
    var passing: PassedPacket?
    var passed = RecentSequences()
    /// A packet that made a jump, until the next one says whether to believe it (RFC 3550 §A.1).
    private var suspect: SuspectPacket?
    /// One that is believed now, where packets are passed on: it goes before the one in `passing`.
    var confirmed: ConfirmedPacket?
    /// The next packet that is passed on is the first of those that the source has numbered anew.
    var startsAnew = false
    /// The packet that has come was not the end of its picture; nil for sound, and once it has been taken.
    var isAmidPicture: Bool?
    /// Of one packet; kept for its storage.
    var redundantBlocks: [RedundantAudio.Block] = []

    /// One for each format, kept for the buffers inside.
    var depacketizers: [Depacketizer] = []
    private(set) var format: PayloadFormat?
    private(set) var payloadType: UInt8?
    private(set) var clockRate: UInt32 = 90_000
    var hasEnded = false

    var outputs = FIFO<ReceiveStreamOutput>()
    private var bufferWake: Instant?
    var due: [UInt16] = []
    var givenUp: [Int64] = []

    /// How long the first key frame may take, reordering included, before it is asked for.
    private static let firstKeyFrameDelay = Interval.milliseconds(50)

    public init(configuration: ReceiveStreamConfiguration) {
        self.configuration = configuration
        retransmissionSSRC = configuration.retransmissionSSRC
        buffer = JitterBuffer(
            limits: JitterBuffer.Limits(
                packets: configuration.maximumPackets, bytes: configuration.maximumBytes,
                videoHold: configuration.videoHoldLimit, audioHold: configuration.audioHoldLimit))
        nacks = NACKList(
            reorderingTolerance: configuration.reorderingTolerance, maximumTries: configuration.maximumNACKs)
        keyFrameRequester = KeyFrameRequester(interval: configuration.keyFrameRequestInterval)
        playout = PlayoutClock(delay: configuration.playoutDelay)
    }

    public var ssrc: UInt32 { configuration.ssrc }

    /// Whether the negotiated codecs are of pictures.
    var isVideo: Bool { configuration.codecs.values.contains(where: \.isVideo) }

    /// Whether a packet is the stream's own or one of its retransmissions.
    public func accepts(_ header: RTPHeader) -> Bool {
        accepts(header, configuration.codecs[header.payloadType])
    }

    private func accepts(_ header: RTPHeader, _ codec: ReceiveCodec?) -> Bool {
        switch codec {
        case .retransmission: mayRepair(from: header.ssrc)
        case .media, .redundancy, .telephoneEvent, .none: header.ssrc == ssrc
        }
    }

    // MARK: Packets

    /// Takes an unprotected packet of the stream or of its retransmissions. Feedback goes into `queue`, frames come
    /// out of `pollOutput`.
    public mutating func receive(
        _ header: RTPHeader, _ packet: RawSpan, into queue: inout PacketQueue, at now: Instant
    ) {
        let codec = codec(of: header.payloadType)
        guard !hasEnded, accepts(header, codec) else { return }
        counters.lastPacketAt = now
        if case .media(let format, _) = codec, format.isVideo, !header.payloadRange.isEmpty {
            isAmidPicture = !header.marker
        }
        // Retransmissions have a source of their own.
        let isOwn = header.ssrc == ssrc
        if suspect != nil, isOwn { judgeSuspect(by: header) }
        let dropped = counters.otherDropped
        take(header, packet, codec, at: now)
        if isOwn, record.isSuspecting {
            suspect = SuspectPacket(
                bytes: packet.withUnsafeBytes { [UInt8]($0) }, arrivedAt: now,
                dropped: counters.otherDropped - dropped)
        }
        keyFrameRequester.packetReceived()
        if configuration.unit == .frames { advance(at: now) }
        sendFeedback(into: &queue, at: now)
    }

    private mutating func take(_ header: RTPHeader, _ packet: RawSpan, _ codec: ReceiveCodec?, at now: Instant) {
        if configuration.unit == .packets { return pass(header, packet, codec, at: now) }
        switch codec {
        case .retransmission(let original):
            receiveRetransmission(header, packet: packet, payloadType: original, at: now)
        case .media(let format, let clockRate):
            receiveMedia(
                header, payload: header.payload(of: packet), format: format, clockRate: clockRate,
                about: about(header, packet),
                at: now)
        case .redundancy:
            receiveRedundant(header, packet: packet, at: now)
        case .telephoneEvent(let clockRate):
            receiveEvent(header, packet: packet, clockRate: clockRate, at: now)
        case .none:
            counters.otherDropped += 1
            receiveMedia(header, payload: header.payload(of: packet), format: nil, clockRate: clockRate, at: now)
        }
    }

    /// RFC 3550 §A.1: where the next packet continues from the one that made a jump, the source has started over with
    /// that one, which is received now. Else it is none of the stream's.
    private mutating func judgeSuspect(by next: RTPHeader) {
        guard let packet = suspect.take(), record.confirmsJump(next.sequenceNumber),
            let header = try? RTPHeader(parsing: packet.bytes.span.bytes)
        else { return }
        let codec = codec(of: header.payloadType)
        // What its payload type means may have been agreed upon since.
        guard accepts(header, codec) else { return }
        record.believeJump()
        // It is counted once more.
        counters.otherDropped -= packet.dropped
        counters.bytesReceived -= UInt64(header.payloadRange.count)
        counters.headerBytesReceived -= UInt64(header.headerSize + header.paddingCount)
        passing = nil
        take(header, packet.bytes.span.bytes, codec, at: packet.arrivedAt)
        confirmed = passing.take().map { ConfirmedPacket(passed: $0, bytes: packet.bytes) }
    }

    private mutating func codec(of payloadType: UInt8) -> ReceiveCodec? {
        if let recentCodec, recentCodec.payloadType == payloadType { return recentCodec.codec }
        guard let codec = configuration.codecs[payloadType] else { return nil }
        recentCodec = (payloadType, codec)
        return codec
    }

    /// The packet's place in the order of the stream; nil for one that is not believed.
    @discardableResult
    mutating func receiveMedia(
        _ header: RTPHeader, payload: RawSpan, format: PayloadFormat?, clockRate: UInt32,
        about: PacketAbout = PacketAbout(), at now: Instant
    ) -> Int64? {
        guard
            let sequence = register(
                header, payloadSize: payload.byteCount, clockRate: format == nil ? nil : clockRate, at: now)
        else { return nil }
        if format != nil { playout.observe(timestamp: header.timestamp, clockRate: clockRate, at: now) }
        let head = buffer.head
        insert(header, sequence: sequence, payload: payload, format: format, about: about, at: now)
        // One from before the first that was seen: what lies between is missing, too.
        if sequence < head, buffer.head == sequence { packetsMissing(sequence + 1..<head, at: now) }
        return sequence
    }

    /// Notes that a packet has come: what is missing before it, and what is not any more.
    ///
    /// - Parameter clockRate: nil for a packet whose timestamp says nothing about jitter.
    /// - Returns: its place in the order of the stream; nil for one that is not believed.
    mutating func register(
        _ header: RTPHeader, payloadSize: Int, clockRate: UInt32?, at now: Instant
    ) -> Int64? {
        let previous = record.highest
        let sequence: Int64
        counters.bytesReceived += UInt64(payloadSize)
        counters.headerBytesReceived += UInt64(header.headerSize + header.paddingCount)
        switch record.receive(sequenceNumber: header.sequenceNumber) {
        case .suspect:
            counters.otherDropped += 1
            return nil
        case .restarted(let value):
            startOver()
            sequence = value
        case .newest(let value):
            sequence = value
            if let clockRate { record.observe(timestamp: header.timestamp, clockRate: clockRate, at: now) }
            if let previous, previous + 1 < value { packetsMissing(previous + 1..<value, at: now) }
        case .older(let value):
            sequence = value
            if nacks.received(value), retransmissionSSRC == nil {
                counters.retransmittedPacketsReceived += 1
                counters.retransmittedBytesReceived += UInt64(payloadSize)
            }
        }
        return sequence
    }

    /// Whether a packet was passed over and its place is still open.
    func isMissing(_ sequence: Int64) -> Bool { buffer.lacks(sequence) }

    /// A lost packet whose sound came with a later one.
    mutating func recover(
        _ header: RTPHeader, sequence: Int64, payload: RawSpan, format: PayloadFormat, at now: Instant
    ) {
        counters.packetsRecovered += 1
        _ = nacks.received(sequence)
        insert(header, sequence: sequence, payload: payload, format: format, at: now)
    }

    private mutating func packetsMissing(_ range: Range<Int64>, at now: Instant) {
        guard configuration.usesNACK else { return }
        guard nacks.missing(range, at: now) else {
            // So many cannot be recovered in time: nobody waits for them, nor for any other, which nobody asks for any
            // more.
            nacks.giveUpAll(into: &givenUp)
            givenUp.append(contentsOf: range)
            return
        }
    }

    private mutating func startOver() {
        buffer.reset()
        nacks.removeAll()
        playout.reset()
        passed.reset()
        startsAnew = true
        // A structure of dependencies, and what refers to it, is of one run.
        pendingDescriptors.removeAll()
        descriptors = DependencyDescriptorReader()
    }

    /// RFC 4588 §4: unwraps a retransmission into the place of the packet that was lost.
    private mutating func receiveRetransmission(
        _ header: RTPHeader, packet: RawSpan, payloadType: UInt8, at now: Instant
    ) {
        let whole = header.payload(of: packet)
        guard let sequence = unwrap(header, whole), let payload = RTXPayload.originalPayload(whole),
            case .media(let format, _) = configuration.codecs[payloadType]
        else {
            counters.retransmissionsIgnored += 1
            return
        }
        var original = header
        original.payloadType = payloadType
        insert(
            original, sequence: sequence, payload: payload, format: format, about: about(header, packet), at: now)
    }

    private mutating func insert(
        _ header: RTPHeader, sequence: Int64, payload: RawSpan, format: PayloadFormat?,
        about: PacketAbout = PacketAbout(), at now: Instant
    ) {
        var slot = JitterBuffer.Slot()
        slot.sequence = sequence
        slot.timestamp = header.timestamp
        slot.marker = header.marker
        slot.arrivedAt = now
        if let format, payload.byteCount > 0 {
            let depacketizer = depacketizers[depacketizerIndex(format)]
            slot.content = .packet
            slot.metadata = about.metadata
            slot.format = format
            slot.payloadType = header.payloadType
            slot.startsFrame = depacketizer.startsFrame(payload)
            slot.startsKeyFrame = depacketizer.startsKeyFrame(payload)
            slot.isCertainStart = slot.startsFrame && depacketizer.isCertainFrameStart(payload)
        } else {
            slot.content = .filler
        }
        let kept = slot.content.isPacket ? payload : payload.extracting(0..<0)
        switch buffer.insert(slot, payload: kept, at: now) {
        case .inserted: if !about.descriptor.isEmpty { keep(about.descriptor, at: sequence) }
        case .duplicate: counters.duplicatesDropped += 1
        case .late: counters.lateDropped += 1
        }
    }

    private static let maximumPendingDescriptors = 256

    private mutating func keep(_ descriptor: [UInt8], at sequence: Int64) {
        if pendingDescriptors.count >= Self.maximumPendingDescriptors {
            // Those of packets that have left without a frame.
            let head = buffer.head
            pendingDescriptors = pendingDescriptors.filter { $0.key >= head }
        }
        guard pendingDescriptors.count < Self.maximumPendingDescriptors else { return }
        pendingDescriptors[sequence] = descriptor
    }

    mutating func depacketizerIndex(_ format: PayloadFormat) -> Int {
        if let index = depacketizers.firstIndex(where: { $0.format == format }) { return index }
        depacketizers.append(Depacketizer(format: format))
        return depacketizers.count - 1
    }

    // MARK: Frames

    /// Releases what has become complete or has waited long enough.
    mutating func advance(at now: Instant) {
        guard configuration.unit == .frames else { return givenUp.removeAll(keepingCapacity: true) }
        for sequence in givenUp { buffer.giveUp(sequence) }
        givenUp.removeAll(keepingCapacity: true)
        bufferWake = nil
        loop: while true {
            switch buffer.step(at: now) {
            case .wait(let until):
                bufferWake = until
                break loop
            case .skipped(let count):
                guard count > 0 else { continue }
                counters.packetsSkipped += UInt64(count)
                outputs.append(.skipped(packets: count))
            case .frame(let range):
                if let due = playout.due(
                    timestamp: buffer.headTimestamp, arrivedAt: buffer.headArrivedAt, jitter: record.jitterInterval),
                    now < due
                {
                    bufferWake = due
                    break loop
                }
                release(range, at: now)
            }
        }
        nacks.remove(before: buffer.head)
        switch buffer.mode {
        case .decoding: keyFrameRequester.decodingGoesOn()
        case .needsKeyFrame:
            guard buffer.packetCount > 0 || format != nil else { return }
            keyFrameRequester.want(after: format == nil ? Self.firstKeyFrameDelay : .zero, at: now)
        }
    }

    private mutating func release(_ range: Range<Int64>, at now: Instant) {
        let first = buffer.slots[buffer.place(range.lowerBound)]
        guard let frame = assemble(range, first: first) else {
            counters.framesDropped += 1
            return buffer.reject(range)
        }
        if format != first.format {
            // Another codec's decoder knows nothing yet: it begins at a key frame like the first.
            guard frame.isKeyFrame else {
                counters.framesDropped += 1
                return buffer.reject(range)
            }
            if format != nil { outputs.append(.codecChanged(first.format)) }
            format = first.format
        }
        payloadType = first.payloadType
        if case .media(_, let rate) = configuration.codecs[first.payloadType] { clockRate = rate }
        countDelay(of: frame, in: range, at: now)
        buffer.consume(range)
        counters.framesReceived += 1
        if frame.isKeyFrame {
            counters.keyFramesReceived += 1
            keyFrameRequester.fulfilled()
        }
        outputs.append(.frame(frame))
    }

    /// W3C webrtc-stats §8.4: how long frames and samples were held, and how long frames took to come.
    private mutating func countDelay(of frame: EncodedFrame, in range: Range<Int64>, at now: Instant) {
        var (count, first, last) = (0, now, Instant(nanoseconds: .min))
        for sequence in range {
            let slot = buffer.slots[buffer.place(sequence)]
            guard slot.content.isPacket else { continue }
            count += 1
            first = min(first, slot.arrivedAt)
            last = max(last, slot.arrivedAt)
        }
        let emitted = frame.format.isVideo ? 1 : frame.format.samples(in: frame.payload.span.bytes) ?? 0
        counters.bufferDelay += (now - first).seconds * Double(emitted)
        counters.bufferEmitted += UInt64(emitted)
        guard count > 1 else { return }
        counters.assembledFrames += 1
        counters.assemblyTime = counters.assemblyTime + (last - first)
    }

    /// The frame in these places; nil when it lacks its beginning or is malformed.
    private mutating func assemble(_ range: Range<Int64>, first: JitterBuffer.Slot) -> EncodedFrame? {
        guard first.startsFrame else { return nil }
        let index = depacketizerIndex(first.format)
        depacketizers[index].reset()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(buffer.byteCount(in: range) + 64)
        var isKeyFrame = false
        var metadata = FrameMetadata()
        for sequence in range {
            let place = buffer.place(sequence)
            guard buffer.slots[place].content.isPacket else { continue }
            guard buffer.slots[place].format == first.format else { return nil }
            isKeyFrame = isKeyFrame || buffer.slots[place].startsKeyFrame
            metadata.packet.merge(buffer.slots[place].metadata)
            let payload = buffer.payloads[place]
            guard depacketizers[index].append(payload.span.bytes, to: &bytes) else { return nil }
        }
        guard depacketizers[index].isAtUnitBoundary, !bytes.isEmpty else { return nil }
        if let data = pendingDescriptors.removeValue(forKey: range.lowerBound) {
            metadata.dependency = descriptors.read(data.span.bytes)
        }
        if let known = metadata.orientation { orientation = known }
        metadata.orientation = orientation
        metadata.rid = configuration.rid
        return EncodedFrame(
            payload: bytes, timestamp: first.timestamp, isKeyFrame: isKeyFrame, format: first.format,
            metadata: metadata)
    }

    /// The sender's wall clock when the media with this timestamp was captured; nil before a sender report.
    public func captureTime(of timestamp: UInt32) -> NTPTimestamp? {
        remote.ntp(of: timestamp, clockRate: clockRate)
    }

    /// The next thing to tell; nil when there is none.
    public mutating func pollOutput() -> ReceiveStreamOutput? { outputs.popFirst() }

    /// Packets held back now, and their payload bytes.
    public var heldPackets: Int { buffer.packetCount }
    public var heldBytes: Int { buffer.byteCount }

    // MARK: Time

    /// When `tick` is next wanted; nil when nothing is pending.
    public var nextWake: Instant? {
        guard !hasEnded else { return nil }
        var wake = bufferWake
        for other in [nacks.nextWake, keyFrameRequester.nextWake] {
            if let other { wake = wake.map { min($0, other) } ?? other }
        }
        return wake
    }

    /// Does what has fallen due.
    public mutating func tick(into queue: inout PacketQueue, at now: Instant) {
        guard !hasEnded, let nextWake, now >= nextWake else { return }
        sendFeedback(into: &queue, at: now)
        advance(at: now)
        sendFeedback(into: &queue, at: now)
    }
}

/// A packet that nothing has confirmed yet, whole.
private struct SuspectPacket: Sendable {
    var bytes: [UInt8]
    var arrivedAt: Instant
    /// How often it was counted as dropped.
    var dropped: UInt64
}

extension ReceiveCodec {
    fileprivate var isVideo: Bool {
        switch self {
        case .media(let format, _): format.isVideo
        case .retransmission, .redundancy, .telephoneEvent: false
        }
    }
}
