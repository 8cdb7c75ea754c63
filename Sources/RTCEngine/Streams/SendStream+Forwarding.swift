public import RTCWire

/// The part of a forwarded packet's header that whoever forwards it decides.
public struct ForwardedHead: Sendable, Hashable {
    public var sequenceNumber: UInt16
    public var timestamp: UInt32
    public var marker: Bool
    /// Nil for the stream's own; another one for telephone events and redundancy.
    public var payloadType: UInt8?
    /// The packet was sent before, and the peer has missed it.
    public var isRepeat: Bool
    /// What comes in the place of the payload's first bytes.
    public var prefix = PayloadPrefix()

    public init(
        sequenceNumber: UInt16, timestamp: UInt32, marker: Bool, payloadType: UInt8? = nil, isRepeat: Bool = false
    ) {
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.marker = marker
        self.payloadType = payloadType
        self.isRepeat = isRepeat
    }
}

/// The first bytes of a payload, written anew: a VP8 descriptor with other numbers (RFC 7741 §4.2).
public struct PayloadPrefix: Sendable, Hashable {
    /// The longest: a VP8 descriptor with every field has six bytes.
    public static let capacity = 8

    /// How many bytes of the payload it is in the place of.
    public private(set) var replaced = 0
    public private(set) var count = 0
    /// The bytes, first the highest.
    private var value: UInt64 = 0

    /// Nothing is replaced.
    public init() {}

    /// - Parameter replaced: how many bytes of the payload go.
    public init(replacing replaced: Int) { self.replaced = replaced }

    /// Appends a byte; past the capacity it is left out.
    public mutating func append(_ byte: UInt8) {
        guard count < Self.capacity else { return }
        value |= UInt64(byte) << UInt64((Self.capacity - 1 - count) * 8)
        count += 1
    }

    /// Appends the payload with its first bytes replaced.
    func write(_ payload: RawSpan, into packet: inout [UInt8]) {
        for index in 0..<count { packet.append(UInt8(truncatingIfNeeded: value >> UInt64((7 - index) * 8))) }
        packet.append(contentsOf: payload.extracting(min(replaced, payload.byteCount)..<payload.byteCount))
    }
}

/// Packets that another connection has received, sent on under this stream's names.
extension SendStream {
    /// Queues a packet. The stream gives it its source, payload type, section, layer and times; header extensions that
    /// speak of the media go on as they came.
    ///
    /// Numbers and times must be those of one stream, which is the caller's business: each number once, but for repeats.
    ///
    /// - Parameters:
    ///   - payload: the media's bytes.
    ///   - source: the header that the packet came with, `packet` its bytes, and `ids` its connection's extensions.
    public mutating func forward(
        _ head: ForwardedHead, payload: RawSpan, from source: RTPHeader, _ packet: RawSpan, _ ids: HeaderExtensionIDs,
        into queue: inout PacketQueue, at now: Instant
    ) {
        // RFC 4588: a repeat travels on the stream of retransmissions, where there is one.
        let retransmission = head.isRepeat ? configuration.retransmission : nil
        var out = QueuedPacket(kind: .rtp, bytes: queue.makeBuffer())
        RTPHeader(
            marker: head.marker,
            payloadType: retransmission?.payloadType ?? head.payloadType ?? configuration.payloadType,
            sequenceNumber: retransmission == nil ? head.sequenceNumber : retransmissionSequenceNumber,
            timestamp: head.timestamp, ssrc: retransmission?.ssrc ?? configuration.ssrc
        ).write(into: &out.bytes)
        writeForwardedExtensions(source, packet, ids, into: &out)
        let headerSize = out.bytes.count
        if retransmission != nil {
            out.bytes.append(uint16: head.sequenceNumber)
            retransmissionSequenceNumber &+= 1
        }
        head.prefix.write(payload, into: &out.bytes)
        switch (head.isRepeat, configuration.format.isVideo) {
        case (_, false): out.priority = .audio
        case (false, true): out.priority = .video
        case (true, true): out.priority = .retransmission
        }
        let size = out.bytes.count - headerSize
        if head.isRepeat {
            counters.packetResent(header: headerSize, payload: size, countsAsMedia: retransmission == nil)
        } else {
            history.note(head.sequenceNumber, at: now)
            counters.packetSent(header: headerSize, payload: size)
            if head.marker { counters.framesSent += 1 }
            noteClock(head.timestamp, at: now)
        }
        queue.append(out)
    }

    /// Sender reports tell the time of the newest picture, unless the owner knows better: `relate`.
    private mutating func noteClock(_ timestamp: UInt32, at now: Instant) {
        guard !isClockGiven else { return }
        if let lastFrame, Int32(bitPattern: timestamp &- lastFrame.timestamp) <= 0 { return }
        lastFrame = (timestamp, now)
    }

    /// The media of this time were captured at that moment, as their sender's reports have it: what is told in our own
    /// reports, so that sound and pictures of one person stay together.
    public mutating func relate(timestamp: UInt32, to moment: Instant) {
        isClockGiven = true
        lastFrame = (timestamp, moment)
    }

    /// The source of what is forwarded has changed: until `relate` is called again, reports go by arrival.
    public mutating func forgetRelation() { isClockGiven = false }

    private mutating func writeForwardedExtensions(
        _ source: RTPHeader, _ packet: RawSpan, _ ids: HeaderExtensionIDs, into out: inout QueuedPacket
    ) {
        let own = configuration.extensions
        let mid = midPacketsLeft > 0 ? configuration.mid : nil
        let writer = HeaderExtensionWriter(
            form: forwardedForm(source, packet, ids), in: &out.bytes)
        if let id = own.absoluteSendTime {
            out.absoluteSendTimeOffset = writer.reserve(id, length: AbsoluteSendTime.size, in: &out.bytes)
        }
        if let id = own.transportSequence {
            out.transportSequenceOffset = writer.reserve(id, length: 2, in: &out.bytes)
        }
        if let id = own.mid, let mid {
            writer.append(id, text: mid, in: &out.bytes)
            midPacketsLeft = max(midPacketsLeft - 1, 0)
        }
        if source.extensionProfile != nil {
            var elements = HeaderExtensionIterator(source)
            while let element = elements.next(in: packet) {
                guard let id = own.id(ofMediaElement: element.id, of: ids),
                    writer.begin(id, length: element.range.count, in: &out.bytes) != nil
                else { continue }
                out.bytes.append(contentsOf: packet.extracting(element.range))
            }
        }
        writer.finish(in: &out.bytes)
    }

    /// The one-byte form wherever it holds everything, for some receivers know no other.
    private func forwardedForm(
        _ source: RTPHeader, _ packet: RawSpan, _ ids: HeaderExtensionIDs
    ) -> HeaderExtensionForm {
        guard form == .oneByte, configuration.allowsMixedExtensions, source.extensionProfile != nil else { return form }
        var elements = HeaderExtensionIterator(source)
        while let element = elements.next(in: packet) {
            guard let id = configuration.extensions.id(ofMediaElement: element.id, of: ids) else { continue }
            if !(1...16).contains(element.range.count) || id > 14 { return .twoByte }
        }
        return .oneByte
    }
}

extension HeaderExtensionIDs {
    /// Our identifier of an element that speaks of the media, by the other connection's; nil for those that speak of the
    /// way there, and for those that were not negotiated on both.
    fileprivate func id(ofMediaElement id: UInt8, of other: HeaderExtensionIDs) -> UInt8? {
        switch id {
        case other.audioLevel: audioLevel
        case other.videoOrientation: videoOrientation
        case other.playoutDelay: playoutDelay
        case other.absoluteCaptureTime: absoluteCaptureTime
        case other.dependencyDescriptor: dependencyDescriptor
        default: nil
        }
    }
}
